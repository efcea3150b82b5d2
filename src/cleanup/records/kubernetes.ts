import { CLEANUP_POLICIES, CLEANUP_RUNS, type PolicyObject, type RunObject } from "../../api/cleanup-resources.ts";
import { parseInstant } from "../../api/cleanup-request.ts";
import { isFinished } from "../../api/cleanup-run.ts";
import type { CleanupRunStatus } from "../../api/generated/cleanup-run.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import { type Live, slim } from "../../kube/objects.ts";
import { Reflector } from "../../kube/reflector.ts";
import { isNewer } from "../../kube/resource-version.ts";
import type { KubernetesMetrics } from "../../observability/kubernetes-metrics.ts";
import { systemTimers } from "../../lib/timers.ts";
import type { Readiness } from "../../observability/http.ts";
import { readinessOf } from "../../runtime/health.ts";
import { completedCutoff } from "./completed-cutoff.ts";
import { type PolicyRecord, RecordConflictError, type RunRecord, type RunRecords } from "./port.ts";

export interface KubeRunRecordsOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of the CleanupPolicy whose runs these are. */
  readonly policy: string;
  readonly metrics: Pick<KubernetesMetrics, "watchErrors" | "watchRelists">;
  /** Every failure that is retried. */
  readonly onError?: (error: unknown) => void;
  /** The server's data was restored from a backup, see `ReflectorOptions`: versions that were seen may be given out again, so nothing that was concluded from them holds. */
  readonly onRestored?: () => void;
  /** For tests. */
  readonly idleMs?: number;
}

/** A write that is not answered by then is not known to have been made, ms: much less than the life of a lease. */
const WRITE_MS = 8_000;
/** A right that is missing may only be on its way through the API server: asked again after about this, ms. */
const REFUSED_DELAY_MS = 5_000;

/**
 * The runs of one CleanupPolicy on the Kubernetes API. Each status is written over the version that was read, so that of two writers one is told; what was written
 * is known at once, and an older word of the watch does not undo it.
 */
export class KubeRunRecords implements RunRecords {
  readonly #options: KubeRunRecordsOptions;
  readonly #policies: Reflector<PolicyObject>;
  readonly #reflector: Reflector<RunObject>;
  readonly #ending = new AbortController();
  readonly #listeners = new Set<() => void>();
  /** Of any policy of this name, by name. */
  readonly #runs = new Map<string, { readonly object: Live<RunObject>; readonly record: RunRecord }>();
  #running: Promise<unknown> = Promise.resolve();
  #open: readonly RunRecord[] | undefined;

  constructor(options: KubeRunRecordsOptions) {
    this.#options = options;
    const { client, namespace, policy, metrics, onError, onRestored, idleMs } = options;
    const common = {
      transport: client.transport,
      namespace,
      metrics,
      refusedDelayMs: REFUSED_DELAY_MS,
      ...(onError && { onError }),
      ...(idleMs !== undefined && { idleMs }),
    };
    // Only this form may be allowed by a Role with resourceNames (kubernetes.io/docs, "Using RBAC Authorization").
    const fieldSelector = `metadata.name=${policy}`;
    this.#policies = new Reflector({ ...common, type: CLEANUP_POLICIES, fieldSelector });
    const forget = () => {
      this.#runs.clear();
      this.#tell();
      onRestored?.();
    };
    this.#reflector = new Reflector({ ...common, type: CLEANUP_RUNS, onRestored: forget });
  }

  /** Begins to watch. Does not wait for the API server. */
  start(): void {
    this.#policies.onChange(() => this.#tell());
    this.#reflector.onChange(({ next, previous }) => {
      if (next !== undefined) this.#put(next);
      else if (previous !== undefined) this.#remove(previous);
    });
    this.#running = Promise.all([this.#policies.run(this.#ending.signal), this.#reflector.run(this.#ending.signal)]);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  /** Ready while both kinds were read, may be read and are heard of, and the policy is there. */
  readiness(): Readiness {
    const { namespace, policy } = this.#options;
    const readiness = readinessOf([this.#policies, this.#reflector], systemTimers);
    if (!readiness.ok || this.#live() !== undefined) return readiness;
    return { ok: false, problems: [`there is no CleanupPolicy ${policy} in namespace ${namespace}`] };
  }

  open(): readonly RunRecord[] {
    // Without the policy no run is known to be its own.
    const uid = this.#live()?.metadata.uid;
    this.#open ??= [...this.#runs.values()]
      .map(({ record }) => record)
      .filter(({ spec, status }) => spec.policyRef.uid === uid && !isFinished(status));
    return this.#open;
  }

  policy(): PolicyRecord | undefined {
    const live = this.#live();
    if (live === undefined) return undefined;
    const { uid: policyUid } = live.metadata;
    return {
      uid: policyUid,
      suspended: live.spec.suspend ?? false,
      completedCutoff: (scope) => {
        const runs = [...this.#runs.values()].map(({ record }) => record);
        return completedCutoff({ policyUid, scopes: live.status?.scopes, runs }, scope);
      },
    };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async write(run: RunRecord, status: CleanupRunStatus): Promise<RunRecord> {
    const { client, namespace } = this.#options;
    const { name, uid, version: resourceVersion, spec } = run;
    const metadata = { namespace, name, uid, resourceVersion };
    try {
      const options = { subresource: "status", timeoutMs: WRITE_MS } as const;
      const written = await client.resource(CLEANUP_RUNS).update({ metadata, spec, status }, options);
      if (this.#runs.get(name)?.object.metadata.uid === uid) this.#put(slim(written));
      return recordOf(slim(written));
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      throw new RecordConflictError(`run ${name} was written by somebody else, or is gone`, { cause: error });
    }
  }

  #live(): Live<PolicyObject> | undefined {
    const { namespace, policy } = this.#options;
    return this.#policies.store.get(`${namespace}/${policy}`);
  }

  #put(next: Live<RunObject>): void {
    const { name, uid, resourceVersion } = next.metadata;
    if (next.spec.policyRef.name !== this.#options.policy) return;
    const before = this.#runs.get(name)?.object.metadata;
    if (before?.uid === uid && !isNewer(resourceVersion, before.resourceVersion)) return;
    this.#runs.set(name, { object: next, record: recordOf(next) });
    this.#tell();
  }

  #remove({ metadata: { name, uid } }: Live<RunObject>): void {
    if (this.#runs.get(name)?.object.metadata.uid !== uid) return;
    this.#runs.delete(name);
    this.#tell();
  }

  #tell(): void {
    this.#open = undefined;
    for (const listener of this.#listeners) listener();
  }
}

function recordOf({ metadata, spec, status }: Live<RunObject>): RunRecord {
  const { name, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const createdAt = parseInstant(creationTimestamp ?? "") ?? 0;
  return {
    name,
    uid,
    version: resourceVersion,
    ...(generation !== undefined && { generation }),
    spec,
    status: status ?? {},
    receivedAt: Math.min(parseInstant(spec.receivedAt ?? "") ?? createdAt, createdAt),
  };
}
