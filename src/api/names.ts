import { shortHash, uuidV5 } from "../lib/hash.ts";

/** `davit.dev/v1alpha1`. */
export const API_VERSION = "davit.dev/v1alpha1";

/** Label that a Secret needs before a route may use it for anything but verifying what comes in. */
export const USE_LABEL = "davit.dev/use";

/**
 * Route key: 16 hex digits over the namespace's UID and the route's name. A re-created route finds its own events again; a namespace of the
 * same name that was deleted and made anew does not.
 */
export function routeKey(namespaceUid: string, name: string): string {
  return shortHash(namespaceUid, name);
}

/** Id of an inline destination: `<route key>/<name>`. */
export function inlineDestinationId(route: string, name: string): string {
  return `${route}/${name}`;
}

/** What a tag is made of: the store writes them as `davit:<instance>:{<namespace>}`. */
export interface TagParts {
  readonly instance: string;
  readonly namespace: string;
}

/** Tag of everything a namespace has in the store. The braces make it one hash slot of a Redis Cluster. */
export function tag({ instance, namespace }: TagParts): string {
  return `davit:${instance}:{${namespace}}`;
}

/** Name of the Secret that holds a route's published entry. */
export function entrySecretName(instance: string, namespace: string, name: string): string {
  return `davit-route-${shortHash(instance, namespace, name)}`;
}

/** Name of the Secret that holds the ring of an outgoing signing key. */
export function signingRingSecretName(instance: string, namespace: string, secret: string, key: string): string {
  return `davit-ring-${shortHash(instance, namespace, secret, key)}`;
}

/** The UID that `davit dev` gives an object, since no API server does: the same on every run. */
export function devUid(instance: string, kind: string, namespace: string, name: string): string {
  return uuidV5(instance, kind, namespace, name);
}
