import {
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  provisionedRedisSecretName,
} from "../../api/names.ts";
import { type Secret, SECRETS } from "../../kube/core-types.ts";
import type { ReconcileResult } from "../../runtime/reconcile.ts";
import type { Operator } from "./operator.ts";
import { entryIn } from "./publications.ts";

/** Key of the Secret: the URL with the user and its password. */
const KEY = "url";
/** Users are looked at this often, ms: a Redis that was restarted or failed over knows none. */
const AGAIN_MS = 30_000;
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
  /** Takes the user away, on every node. */
  revoke(namespace: string): Promise<void>;
}

/**
 * With Redis users `Provisioned`: keeps each namespace's Secret with the URL of its workers, and the user on the servers. The Secret is state: the
 * password is nowhere else.
 */
export class RedisAccessReconciler {
  readonly #operator: Operator;
  readonly #access: RedisAccess;

  constructor(operator: Operator, access: RedisAccess) {
    this.#operator = operator;
    this.#access = access;
  }

  /** @param namespace key of this controller */
  async reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { publications, routes } = this.#operator;
    const home = this.#operator.namespace(namespace);
    if (home === undefined || home.metadata.deletionTimestamp !== undefined) {
      await this.#access.revoke(namespace);
      return {};
    }
    const hasWorkers = publications.inNamespace(namespace).some((secret) => entryIn(secret) !== undefined);
    if (hasWorkers) return this.#give(namespace, signal);
    return routes.ofNamespace(namespace).length === 0 ? this.#takeAway(namespace, signal) : {};
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
    await this.#access.grant(namespace, next);
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
    const name = provisionedRedisSecretName(config.instance);
    const resource = client.resource(SECRETS);
    const live = await resource.find({ namespace, name }, { signal });
    if (live?.metadata.labels?.[COMPONENT_LABEL] === "redis") {
      await resource.delete({ namespace, name }, { uid: live.metadata.uid, signal });
    }
    await this.#access.revoke(namespace);
    return {};
  }
}
