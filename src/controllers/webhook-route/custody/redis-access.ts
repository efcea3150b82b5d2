import {
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  provisionedRedisSecretName,
} from "../../../api/names.ts";
import { NAMESPACES, type Secret, SECRETS } from "../../../kube/core-types.ts";
import type { ReconcileResult } from "../../../runtime/reconcile.ts";
import type { Refusal } from "../exposure/host-policy.ts";
import type { Operator } from "../operator.ts";
import { entryIn } from "../publishing/publications.ts";
import { isShelved } from "./shelf-reconciler.ts";

/** Key of the Secret: the URL with the user and its password. */
const KEY = "url";
/** Users are looked at this often, ms: a Redis that was restarted or failed over knows none. */
const AGAIN_MS = 30_000;
/** A namespace that the cache does not know and the API server does, ms. */
const CACHE_LAG_MS = 1_000;
/** A shelf may be empty after this long, ms. */
const SHELF_MS = 600_000;
/** Caches that are not complete yet are looked at again after this long, ms. */
const SYNC_POLL_MS = 200;

/** Users of Redis, one for the workers of each namespace. */
export interface RedisAccess {
  /** A URL for a namespace's user, with a new password. */
  newUrl(namespace: string): string;
  /** Whether a URL is one of this Redis for the namespace's user. */
  isUsable(namespace: string, url: string): boolean;
  /** Makes the user so, with the password of the URL, on every node. Nothing changes when it is so already. */
  grant(namespace: string, url: string): Promise<void>;
  /**
   * Takes the user away, on every node, unless there is something on a shelf of the namespace.
   * @returns whether there is no such user now
   */
  revoke(namespace: string): Promise<boolean>;
  /**
   * Whether something of an earlier namespace of this name is kept. Then nobody is let in: the user may read all that is under the name.
   * @param namespaceUid of the namespace that there is now
   */
  hasForerunner(namespace: string, namespaceUid: string): Promise<boolean>;
  /** Why the namespace's user cannot be set, or is not, when that does not end by itself. */
  problem(namespace: string): Refusal | undefined;
}

/**
 * With Redis users `Provisioned`: keeps each namespace's Secret with the URL of its workers, and the user on the servers. The Secret is state: the
 * password is nowhere else.
 */
export class RedisAccessReconciler {
  readonly #operator: Operator;
  readonly #access: RedisAccess;
  /** Reason of {@link RedisAccess.problem} as the routes of a namespace know it. */
  readonly #told = new Map<string, string>();

  constructor(operator: Operator, access: RedisAccess) {
    this.#operator = operator;
    this.#access = access;
  }

  /** @param namespace key of this controller */
  async reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { publications, routes, client } = this.#operator;
    const home = this.#operator.namespace(namespace);
    if (home === undefined) {
      // Asked of the API server itself: a cache that is wrong must not cut off anybody's workers.
      const found = await client.resource(NAMESPACES).find({ name: namespace }, { signal });
      if (found !== undefined) return { requeueAfterMs: CACHE_LAG_MS };
      return this.#isShelving(namespace) ? { requeueAfterMs: CACHE_LAG_MS } : this.#revoke(namespace);
    }
    // Its workers end with it; it is looked at again when it is gone.
    if (home.metadata.deletionTimestamp !== undefined) return {};
    const hasWorkers = publications.inNamespace(namespace).some((secret) => entryIn(secret) !== undefined);
    if (hasWorkers) return this.#giveUnlessForerunner(namespace, home.metadata.uid, signal);
    if (routes.ofNamespace(namespace).length > 0) return {};
    return this.#isShelving(namespace) ? { requeueAfterMs: CACHE_LAG_MS } : this.#takeAway(namespace, signal);
  }

  /** Whether a route was deleted and its events are not on their shelf yet, where they would be missed. @param except UID whose routes do not count */
  #isShelving(namespace: string, except?: string): boolean {
    const secrets = this.#operator.publications.inNamespace(namespace);
    return secrets.some(
      (secret) =>
        secret.publication !== undefined && secret.namespaceUid !== except && !isShelved(this.#operator, secret),
    );
  }

  /** A user that was there before stays: what it may read was its own. */
  async #giveUnlessForerunner(namespace: string, uid: string, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#isShelving(namespace, uid)) return { requeueAfterMs: CACHE_LAG_MS };
    const isHeld = await this.#access.hasForerunner(namespace, uid);
    if (!isHeld) return this.#give(namespace, signal);
    this.#tell(namespace);
    return { requeueAfterMs: AGAIN_MS };
  }

  /** The user first: a worker that finds the Secret must be let in. */
  async #give(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { secrets, config } = this.#operator;
    const name = provisionedRedisSecretName(config.instance);
    const reading = await secrets.read(namespace, [name], signal);
    if (reading.secrets === undefined) return reading.state === "Syncing" ? { requeueAfterMs: SYNC_POLL_MS } : {};
    const url = reading.secrets.get(name)?.data.get(KEY)?.toString("utf8");
    const isUsable = url !== undefined && this.#access.isUsable(namespace, url);
    const next = isUsable ? url : this.#access.newUrl(namespace);
    try {
      await this.#access.grant(namespace, next);
    } finally {
      this.#tell(namespace);
    }
    if (!isUsable) await this.#write(namespace, next, signal);
    return { requeueAfterMs: AGAIN_MS };
  }

  /** Over the version that is there now. A conflict is another look. */
  async #write(namespace: string, url: string, signal: AbortSignal): Promise<void> {
    const { client, config } = this.#operator;
    const name = provisionedRedisSecretName(config.instance);
    const resource = client.resource(SECRETS);
    const live = await resource.find({ namespace, name }, { signal });
    const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: config.instance, [COMPONENT_LABEL]: "redis" };
    const data = { [KEY]: Buffer.from(url).toString("base64") };
    const secret: Secret = { metadata: { name, namespace, labels }, type: "Opaque", data };
    if (live === undefined) {
      await resource.create(secret, { signal });
      return;
    }
    const { uid, resourceVersion } = live.metadata;
    await resource.update({ ...secret, metadata: { ...secret.metadata, uid, resourceVersion } }, { signal });
  }

  async #takeAway(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { client, config } = this.#operator;
    const result = await this.#revoke(namespace);
    if (result.requeueAfterMs !== undefined) return result;
    const name = provisionedRedisSecretName(config.instance);
    const resource = client.resource(SECRETS);
    const live = await resource.find({ namespace, name }, { signal });
    if (live?.metadata.labels?.[COMPONENT_LABEL] === "redis") {
      await resource.delete({ namespace, name }, { uid: live.metadata.uid, signal });
    }
    return {};
  }

  async #revoke(namespace: string): Promise<ReconcileResult> {
    return (await this.#access.revoke(namespace)) ? {} : { requeueAfterMs: SHELF_MS };
  }

  /** The status of routes says why their workers get no user. */
  #tell(namespace: string): void {
    const problem = this.#access.problem(namespace)?.reason ?? "";
    if (problem === (this.#told.get(namespace) ?? "")) return;
    this.#told.set(namespace, problem);
    const { routes, enqueue } = this.#operator;
    for (const key of routes.ofNamespace(namespace)) enqueue.route(key);
  }
}
