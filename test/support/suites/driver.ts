import type { WebhookRouteSpec } from "../../../src/api/generated/webhook-route.ts";
import { becomes } from "../operator/polling.ts";
import type { Receiver } from "../roles/receiver.ts";

/** A Secret or WebhookRoute as a user writes it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: "Secret" | "WebhookRoute";
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/**
 * A running Davit, whatever runs it. The suites of this folder say what users and senders see of key rings and claims, and hold for `davit dev` and for a
 * cluster alike.
 */
export interface Driver {
  /** `spec.instance` of its routes. */
  readonly instance: string;
  /** Two namespaces. */
  readonly namespaces: readonly [mine: string, theirs: string];
  /** Where routes deliver to. */
  readonly receiver: Receiver;
  /** Makes the object, or makes it say this and nothing else. */
  apply(manifest: Manifest): Promise<void>;
  remove(kind: Manifest["kind"], namespace: string, name: string): Promise<void>;
  /** Posts an event to every gateway. @param key signs `X-Signature`; absent: no signature */
  post(path: string, key?: string): Promise<readonly { readonly status: number; readonly id: string | undefined }[]>;
  /** `state value` of each key of a route's ring, in order. */
  keys(namespace: string, name: string): Promise<readonly string[]>;
  /** Why a route does not get its host and path (`HostPathConflict`); "" when it does. */
  conflict(namespace: string, name: string): Promise<string>;
}

export const HOST = "hooks.example.com";

/** Makes a Secret, or gives it these values and no others. */
export function applySecret(
  driver: Driver,
  namespace: string,
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
  return driver.apply({ apiVersion: "v1", kind: "Secret", metadata: { namespace, name }, data });
}

/** What differs between the routes of the suites. */
export interface RouteOptions extends Partial<WebhookRouteSpec> {
  readonly path: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Makes a route that takes unsigned events and delivers to `/<namespace>/<name>` of the receiver, or changes one. */
export function applyRoute(driver: Driver, namespace: string, name: string, options: RouteOptions): Promise<void> {
  const { path, annotations, ...spec } = options;
  return driver.apply({
    apiVersion: "davit.dev/v1alpha1",
    kind: "WebhookRoute",
    metadata: { namespace, name, ...(annotations && { annotations }) },
    spec: {
      instance: driver.instance,
      exposure: { host: HOST, path },
      verification: { none: {} },
      destinations: [{ name: "own", url: `${driver.receiver.url}/${namespace}/${name}`, allowInsecureHTTP: true }],
      ...spec,
    },
  });
}

/** The different statuses of all gateways for an event signed with each key; without keys, for an unsigned one. */
export async function answers(driver: Driver, path: string, ...keys: readonly string[]): Promise<readonly string[]> {
  const all: readonly (string | undefined)[] = keys.length === 0 ? [undefined] : keys;
  const posted = await Promise.all(all.map((key) => driver.post(path, key)));
  return posted.map((one) => [...new Set(one.map(({ status }) => status))].toSorted((a, b) => a - b).join());
}

/** Posts an unsigned event and waits until the route it belongs to has delivered it. */
export async function isServedBy(driver: Driver, path: string, route: string): Promise<void> {
  const ids = (await driver.post(path)).map(({ id }) => id);
  const delivered = () => ids.map((id) => driver.receiver.received.find((one) => one.id === id)?.path);
  await becomes(
    delivered,
    ids.map(() => `/${route}`),
  );
}
