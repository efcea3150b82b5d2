import type { PolicyManifest } from "../../../api/manifests.ts";
import { type CleanupRunRef, cleanupRunName, isSameRun } from "../../../api/cleanup-run.ts";
import type { RunObject } from "../../../api/cleanup-resources.ts";
import type { CleanupRunStatus } from "../../../api/generated/cleanup-run.ts";
import { devUid } from "../../../api/names.ts";
import type { RunStart, RunStarted } from "../../../api/run-start.ts";
import { acceptedPolicy } from "../../../controllers/cleanup-policy/plan/acceptance.ts";
import { planOrphans } from "../../../controllers/cleanup-policy/plan/plan-orphans.ts";
import { planPolicy } from "../../../controllers/cleanup-policy/plan/plan-policy.ts";
import type { PlannedEvent, RunView, StatusWrite } from "../../../controllers/cleanup-policy/plan/views.ts";
import type { Logger } from "../../../observability/logger.ts";
import { CleanupFile, type DevPolicy, type DevRun, keyOf } from "./cleanup-file.ts";

/** A timer cannot be set further ahead, ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** One look makes so many rounds at most; what is due then comes with the next. */
const ROUNDS = 10;

export interface DevCleanupsOptions {
  /** The data directory. */
  readonly dir: string;
  readonly instance: string;
  readonly logger: Logger;
}

/**
 * CleanupPolicies and CleanupRuns of `davit dev`: what the API server and the controller are in a cluster, over a file, by the same plan. It carries out nothing
 * itself.
 */
export class DevCleanups {
  readonly #file: CleanupFile;
  readonly #options: DevCleanupsOptions;
  /** Keys of policies that the manifests have now. */
  #present: ReadonlySet<string> = new Set();
  readonly #listeners = new Set<() => void>();
  /** When the lease of a run was first seen as it is, by the run's key. */
  readonly #leases = new Map<string, { readonly lease: string; readonly at: number }>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @throws Error when the file cannot be read */
  constructor(options: DevCleanupsOptions) {
    this.#options = options;
    this.#file = new CleanupFile(options.dir);
  }

  /** Goes by these policies from now on. */
  update(policies: readonly PolicyManifest[]): void {
    for (const manifest of policies) this.#keep(manifest);
    this.#present = new Set(policies.map(keyOf));
    this.#changed();
  }

  #keep({ namespace, name, policy: { spec } }: PolicyManifest): void {
    const key = keyOf({ namespace, name });
    const uid = devUid(this.#options.instance, "CleanupPolicy", namespace, name);
    const before = this.#file.policies.get(key) ?? { namespace, name, uid, generation: 0, createdAt: Date.now() };
    const isSame = "spec" in before && JSON.stringify(before.spec) === JSON.stringify(spec);
    if (isSame) return;
    this.#file.policies.set(key, { ...before, generation: before.generation + 1, spec });
    this.#options.logger.info({ namespace, policy: name }, `cleanup policy ${name} holds as written now`);
  }

  /** A policy of the manifests. @param key `namespace/name` */
  policy(key: string): DevPolicy | undefined {
    return this.#present.has(key) ? this.#file.policies.get(key) : undefined;
  }

  /** Its runs. @param key `namespace/name` of the policy */
  runsOf(key: string): DevRun[] {
    return [...this.#file.runs.values()].filter((run) => `${run.namespace}/${run.spec.policyRef.name}` === key);
  }

  /** Calls back after every change. @returns ends it */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Delivery's `RunStarter`. */
  async start({ namespace, policy: name, runId, scope, cutoff, receivedAt, eventId }: RunStart): Promise<RunStarted> {
    const policy = this.policy(`${namespace}/${name}`);
    if (policy === undefined) return "noPolicy";
    const spec = {
      instance: this.#options.instance,
      policyRef: { name, uid: policy.uid },
      runId,
      scope,
      cutoff: new Date(cutoff).toISOString(),
      trigger: "Push",
      receivedAt: new Date(receivedAt).toISOString(),
      eventId,
    } as const;
    const known = this.#file.runs.get(`${namespace}/${cleanupRunName(policy, runId)}`);
    if (known !== undefined) return isSameRun(known.spec, spec) ? "exists" : "conflict";
    this.#create(namespace, { name: cleanupRunName(policy, runId), spec });
    this.#changed();
    return "created";
  }

  /** The gateway's `RunView`. */
  async find({ namespace, policy: name, runId }: CleanupRunRef): Promise<RunObject | "noRun" | "noPolicy"> {
    const policy = this.policy(`${namespace}/${name}`);
    if (policy === undefined) return "noPolicy";
    const run = this.#file.runs.get(`${namespace}/${cleanupRunName(policy, runId)}`);
    if (run === undefined) return "noRun";
    const creationTimestamp = new Date(run.createdAt).toISOString();
    return {
      metadata: { namespace, name: run.name, creationTimestamp },
      spec: run.spec,
      ...(run.status && { status: run.status }),
    };
  }

  /**
   * Writes a status over a version of a run.
   * @param key `namespace/name` of the run
   * @returns `undefined`: it has another version by now, or is gone
   */
  writeStatus(key: string, version: number, status: CleanupRunStatus): DevRun | undefined {
    const before = this.#file.runs.get(key);
    if (before?.version !== version) return undefined;
    const written = { ...before, version: version + 1, status };
    this.#file.runs.set(key, written);
    this.#tell(before, written);
    this.#changed();
    return written;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  /** Saves, looks at everything soon, and tells whoever listens. */
  #changed(): void {
    this.#file.save();
    this.#lookIn(0);
    for (const listener of this.#listeners) listener();
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.#look(), Math.min(MAX_TIMER_MS, Math.max(0, ms)));
  }

  #look(): void {
    let next: number | undefined;
    for (let round = 0, isAgain = true; isAgain && round < ROUNDS; round += 1) {
      const looks = [...this.#file.policies.keys()].map((key) => this.#lookAt(key));
      isAgain = looks.some(({ hasChanged }) => hasChanged);
      const times = looks.flatMap(({ nextLookAt }) => nextLookAt ?? []);
      next = isAgain ? Date.now() : Math.min(...times);
    }
    // A change begins a look of its own; this is for times.
    if (next !== undefined && Number.isFinite(next)) this.#lookIn(next - Date.now());
  }

  #lookAt(key: string): { readonly hasChanged: boolean; readonly nextLookAt?: number } {
    const now = Date.now();
    const runs = this.runsOf(key).map((run) => this.#view(run));
    const policy = this.policy(key);
    if (policy === undefined) {
      const { statuses, prune, ...rest } = planOrphans(runs, now);
      return { hasChanged: this.#carryOut(key, { create: [], statuses, prune }), ...rest };
    }
    const view = { ...policy, status: policy.status };
    const acceptance = acceptedPolicy(view);
    const plan = planPolicy({
      policy: view,
      ...("refusal" in acceptance ? { accepted: undefined, refusal: acceptance.refusal } : { accepted: acceptance }),
      runs,
      hasCleaner: true,
      now,
    });
    const hasChanged = this.#carryOut(key, plan);
    if (plan.status !== undefined) this.#file.policies.set(key, { ...policy, status: plan.status });
    if (plan.status !== undefined) this.#file.save();
    for (const event of plan.events) this.#event(key, event);
    return { hasChanged, ...(plan.nextLookAt !== undefined && { nextLookAt: plan.nextLookAt }) };
  }

  /** @returns whether there was anything to do */
  #carryOut(
    key: string,
    {
      create,
      statuses,
      prune,
    }: Pick<ReturnType<typeof planPolicy>, "create" | "prune"> & { readonly statuses: readonly StatusWrite[] },
  ): boolean {
    const [namespace = ""] = key.split("/", 1);
    for (const run of create) if (!this.#file.runs.has(`${namespace}/${run.name}`)) this.#create(namespace, run);
    for (const { run, status, event } of statuses) {
      const known = this.#file.runs.get(`${namespace}/${run.name}`);
      if (known !== undefined) this.writeStatus(`${namespace}/${run.name}`, known.version, status);
      if (event !== undefined) this.#event(`${namespace}/${run.name}`, event);
    }
    for (const { name } of prune) this.#file.runs.delete(`${namespace}/${name}`);
    const hasChanged = create.length + statuses.length + prune.length > 0;
    if (hasChanged) this.#changed();
    return hasChanged;
  }

  #create(namespace: string, { name, spec }: Pick<DevRun, "name" | "spec">): void {
    this.#file.runs.set(`${namespace}/${name}`, { namespace, name, version: 1, createdAt: Date.now(), spec });
  }

  #view(run: DevRun): RunView {
    const key = keyOf(run);
    const lease = run.status?.lease && `${run.status.lease.token} ${run.status.lease.renewedAt}`;
    if (lease === undefined) this.#leases.delete(key);
    else if (this.#leases.get(key)?.lease !== lease) this.#leases.set(key, { lease, at: Date.now() });
    const { name, createdAt, spec, status } = run;
    return { name, uid: name, createdAt, spec, status, leaseSeenAt: this.#leases.get(key)?.at };
  }

  /** What `kubectl get cleanupruns` shows, whenever a run is in another phase. */
  #tell(before: DevRun, { namespace, spec, status = {} }: DevRun): void {
    const { phase, reason, counters } = status;
    const { phase: phaseBefore, reason: reasonBefore } = before.status ?? {};
    if (phaseBefore === phase && reasonBefore === reason) return;
    const { runId, scope, policyRef } = spec;
    const about = { namespace, policy: policyRef.name, runId, scope, mode: status.snapshot?.mode, reason };
    const { planned, deleted, kept } = counters ?? {};
    this.#options.logger.info({ ...about, planned, deleted, kept }, `cleanup run ${runId} of ${scope} is ${phase}`);
  }

  #event(about: string, { type, reason, note }: PlannedEvent): void {
    this.#options.logger[type === "Warning" ? "warn" : "info"]({ about, reason }, note);
  }
}
