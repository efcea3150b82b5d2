import { readSecret, type SecretObject } from "../../../api/secret.ts";
import type { Secret } from "../../../kube/core-types.ts";
import { isForbidden } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/objects.ts";
import type { ResourceClient } from "../../../kube/resource-client.ts";
import { isNewer } from "../../../kube/resource-version.ts";
import type { CacheState, KindCache } from "../watching/kind-cache.ts";

/** What is watched of a tenant's Secrets: no values. Values are read of those that a route refers to. */
export type SecretMetadata = KubeObject;

/** Helm keeps a Secret for each revision of each release, up to 1 MB: none of a route's business. */
export const TENANT_SECRETS_SELECTOR = "type!=helm.sh/release.v1";

export interface TenantSecretsOptions {
  readonly metadata: Pick<KindCache<SecretMetadata>, "get" | "state">;
  readonly client: Pick<ResourceClient<Secret>, "find">;
}

interface Value {
  readonly resourceVersion: string;
  readonly secret: SecretObject;
}

/** Secrets of a namespace that were asked for, by name. */
export type SecretsReading =
  | { readonly state: "Synced"; readonly secrets: ReadonlyMap<string, SecretObject> }
  | { readonly state: Exclude<CacheState, "Synced">; readonly secrets?: undefined };

/** Values of the Secrets that routes refer to, read when their version changes. */
export class TenantSecrets {
  readonly #options: TenantSecretsOptions;
  readonly #values = new Map<string, Value>();

  constructor(options: TenantSecretsOptions) {
    this.#options = options;
  }

  /**
   * The Secrets of these names that exist.
   * @throws as every read but a 403, which is `Refused`
   */
  async read(namespace: string, names: Iterable<string>, signal?: AbortSignal): Promise<SecretsReading> {
    const state = this.#options.metadata.state(namespace);
    if (state !== "Synced") return { state };
    try {
      const found = await Promise.all([...names].map((name) => this.#read(namespace, name, signal)));
      return {
        state,
        secrets: new Map(found.flatMap((secret) => (secret === undefined ? [] : [[secret.name, secret]]))),
      };
    } catch (error) {
      if (isForbidden(error)) return { state: "Refused" };
      throw error;
    }
  }

  /** Whether what is known of a namespace's Secrets is complete. */
  state(namespace: string): CacheState {
    return this.#options.metadata.state(namespace);
  }

  /** Labels of a Secret; `undefined` when it does not exist. */
  labelsOf(namespace: string, name: string): Readonly<Record<string, string>> | undefined {
    const found = this.#options.metadata.get(namespace, name);
    return found === undefined ? undefined : (found.metadata.labels ?? {});
  }

  /** Forgets the value of a Secret that no route refers to any more, or that is gone. */
  forget(key: string): void {
    this.#values.delete(key);
  }

  /** Secrets whose values are in memory, `namespace/name`. */
  get held(): IterableIterator<string> {
    return this.#values.keys();
  }

  async #read(namespace: string, name: string, signal: AbortSignal | undefined): Promise<SecretObject | undefined> {
    const key = `${namespace}/${name}`;
    const metadata = this.#options.metadata.get(namespace, name)?.metadata;
    if (metadata === undefined) {
      this.#values.delete(key);
      return undefined;
    }
    const known = this.#values.get(key);
    if (known?.resourceVersion === metadata.resourceVersion) return known.secret;
    const live = await this.#options.client.find({ namespace, name }, { signal });
    const secret = live && readSecret(live, namespace).secret;
    if (live === undefined || secret === undefined) {
      this.#values.delete(key);
      return undefined;
    }
    const { resourceVersion } = live.metadata;
    // Another read may have been asked later and answered sooner: a ring must not go back to a key that it has left.
    const newest = this.#values.get(key);
    if (newest !== undefined && isNewer(newest.resourceVersion, resourceVersion)) return newest.secret;
    this.#values.set(key, { resourceVersion, secret });
    return secret;
  }
}
