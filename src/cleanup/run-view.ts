import { CLEANUP_POLICIES, CLEANUP_RUNS, type RunObject } from "../api/cleanup-resources.ts";
import { type CleanupRunRef, cleanupRunName } from "../api/cleanup-run.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { RunStarterOptions } from "./run-starter.ts";

/** How long the UID of a policy is remembered, ms: callers poll. */
const UID_MS = 5_000;
const MAX_POLICIES = 1_024;
const TIMEOUT_MS = 5_000;

export interface RunViewOptions extends RunStarterOptions {
  readonly timers?: Timers;
}

/** Finds runs by their ids: the gateway's view of them in a cluster. A run costs one call, its policy one every few seconds. */
export class KubeRunView {
  readonly #options: RunViewOptions;
  readonly #timers: Timers;
  readonly #uids = new BoundedMap<string, { readonly uid: string; readonly until: number }>(MAX_POLICIES);

  constructor(options: RunViewOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
  }

  /** @throws KubeApiError, KubeConnectionError, KubeConfigError */
  async find({ namespace, policy, runId }: CleanupRunRef): Promise<RunObject | "noRun" | "noPolicy"> {
    const uid = await this.#uidOf(namespace, policy);
    if (uid === undefined) return "noPolicy";
    const name = cleanupRunName({ name: policy, uid }, runId);
    const runs = this.#options.client.resource(CLEANUP_RUNS);
    return (await runs.find({ namespace, name }, { timeoutMs: TIMEOUT_MS })) ?? "noRun";
  }

  async #uidOf(namespace: string, name: string): Promise<string | undefined> {
    const { client, instance } = this.#options;
    const key = `${namespace}/${name}`;
    const now = this.#timers.monotonic();
    const known = this.#uids.get(key);
    if (known && now < known.until) return known.uid;
    const policy = await client.resource(CLEANUP_POLICIES).find({ namespace, name }, { timeoutMs: TIMEOUT_MS });
    if (policy === undefined || (policy.spec.instance ?? "default") !== instance) return undefined;
    this.#uids.set(key, { uid: policy.metadata.uid, until: now + UID_MS });
    return policy.metadata.uid;
  }
}
