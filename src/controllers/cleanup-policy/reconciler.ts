import type { CleanupPolicyStatus } from "../../api/generated/cleanup-policy.ts";
import { type Live, refOf, slim } from "../../kube/objects.ts";
import { groupBy } from "../../lib/group-by.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { ReconcileResult } from "../../runtime/reconcile.ts";
import { mergePatchOf } from "../webhook-route/children/merge-patch.ts";
import type { Refusal } from "../webhook-route/exposure/host-policy.ts";
import { LastWorked } from "../webhook-route/watching/last-worked.ts";
import { notEnabled } from "../webhook-route/route/refusals.ts";
import { policySecretNames, unresolvedSecrets } from "./cleaner/cleaner-secrets.ts";
import { Cleaners } from "./cleaner/cleaners.ts";
import type { CleanupContext } from "./context.ts";
import { acceptedPolicy } from "./plan/acceptance.ts";
import type { AcceptedPolicy } from "./plan/accepted-policy.ts";
import { planOrphans } from "./plan/plan-orphans.ts";
import { planPolicy, type PolicyPlan, TICK_EVENTS } from "./plan/plan-policy.ts";
import { samePolicyStatus } from "./plan/status.ts";
import type { PlannedEvent, PolicyView, RunView } from "./plan/views.ts";
import { RunWrites } from "./run-writes.ts";
import { CLEANUP_POLICIES, type PolicyObject } from "../../api/cleanup-resources.ts";
import { policyView, runView } from "./object-views.ts";

/** Caches that are not complete yet are looked at again after this long, ms. */
const SYNC_POLL_MS = 200;
/** The cache does not know a policy that exists: looked at again after this long, ms. */
const CACHE_LAG_MS = 1_000;
/** Nothing tells that a namespace was enabled: looked at again after this long, ms. */
const NOT_ENABLED_MS = 60_000;
/** Statuses of policies, all together: numbers share this budget. */
const STATUS_WRITES = { burst: 20, perMs: 10 / 1_000 } as const;
/** A status is written whole, and grows with its scopes: each makes the time between two writes longer by so much, up to ten seconds, ms. */
const STATUS_MS_A_SCOPE = 5;
const MAX_STATUS_INTERVAL_MS = 10_000;
/** What is due at once comes after this long, ms: others are served in between. */
const AGAIN_MS = 20;

/** One CleanupPolicy in one reconcile. */
interface Subject {
  readonly key: string;
  readonly object: Live<PolicyObject>;
  readonly policy: PolicyView;
  readonly signal: AbortSignal;
}

/** What its namespace says of a policy. */
interface Surroundings {
  readonly accepted: AcceptedPolicy | undefined;
  readonly refusal: Refusal | undefined;
  readonly unresolved: readonly Refusal[];
  /** Its namespace is not enabled: nothing can be made there. */
  readonly isRefused: boolean;
}

/** Makes one CleanupPolicy so: its scheduled runs, the admission and the end of runs, its cleaner, its history, and what its status says. */
export class CleanupPolicyReconciler {
  readonly #context: CleanupContext;
  readonly #runs: RunWrites;
  readonly #cleaners: Cleaners;
  readonly #budget: TokenBucket;
  readonly #written = new LastWorked(MAX_STATUS_INTERVAL_MS);

  constructor(context: CleanupContext) {
    this.#context = context;
    this.#runs = new RunWrites(context);
    this.#cleaners = new Cleaners(context);
    this.#budget = new TokenBucket(STATUS_WRITES.burst, STATUS_WRITES.perMs, context.clock.monotonic());
  }

  /** @param key `namespace/name` of a policy, which may be gone */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { index } = this.#context;
    const { namespace = "" } = refOf(key);
    const object = index.policy(key);
    if (object === undefined && index.runsOf(key).length === 0) return {};
    const home = this.#context.namespace(namespace);
    if (home === undefined) return { requeueAfterMs: SYNC_POLL_MS };
    // Everything in it goes.
    if (home.metadata.deletionTimestamp !== undefined) return {};
    let orphans: ReconcileResult = {};
    const notEnded = await failureOf(this.#endOrphans(key, object, signal).then((result) => void (orphans = result)));
    // One that is being deleted takes its cleaner along.
    const isThere = object !== undefined && object.metadata.deletionTimestamp === undefined;
    const own = isThere ? await this.#make({ key, object, policy: policyView(object), signal }) : {};
    if (notEnded !== undefined) throw notEnded.error;
    return soonest(own, orphans);
  }

  async #make(subject: Subject): Promise<ReconcileResult> {
    const { key, policy } = subject;
    const { clock } = this.#context;
    const around = await this.#surroundings(subject);
    if (around === undefined) return { requeueAfterMs: SYNC_POLL_MS };
    const runs = this.#runsOf(key, ({ spec }) => spec.policyRef.uid === policy.uid);
    const cleanerProblem = around.isRefused ? undefined : this.#cleaners.problem(policy);
    const plan = planPolicy({
      ...around,
      policy,
      runs,
      now: clock.now(),
      hasCleaner: this.#cleaners.isThere(policy),
      ...(cleanerProblem !== undefined && { cleanerProblem }),
    });
    const heldBackMs = await this.#carryOut(subject, plan, around.isRefused);
    return soonest(
      heldBackMs === undefined ? {} : { requeueAfterMs: heldBackMs },
      around.isRefused ? { requeueAfterMs: NOT_ENABLED_MS } : {},
      this.#at(plan.nextLookAt),
    );
  }

  /** @returns ms until the status may be written, when it was not */
  async #carryOut(subject: Subject, plan: PolicyPlan, isRefused: boolean): Promise<number | undefined> {
    const { object, policy, signal } = subject;
    const { namespace } = policy;
    // A quota or a rule of the cluster may forbid new runs: those that are there are served all the same, and old ones make room.
    const notMade = await failureOf(this.#runs.create(object, plan.create, signal));
    const notWritten = await failureOf(this.#runs.statuses(namespace, plan.statuses, signal));
    if (!isRefused) await this.#cleaners.ensure(policy, plan.cleaner, signal);
    if (notWritten !== undefined) throw notWritten.error;
    await this.#runs.prune(namespace, plan.prune, signal);
    const told = notMade === undefined ? plan : withoutTick(plan, policy.status);
    const heldBackMs =
      told.status === undefined ? undefined : await this.#writeStatus(subject, told.status, told.events);
    if (notMade !== undefined) throw notMade.error;
    return heldBackMs;
  }

  /** @returns `undefined` while not everything is known yet */
  async #surroundings({ policy, signal }: Subject): Promise<Surroundings | undefined> {
    const { secrets, children, config } = this.#context;
    const { namespace, spec } = policy;
    const reading = await secrets.read(namespace, policySecretNames(spec), signal);
    if (reading.state === "Syncing") return undefined;
    if (reading.secrets !== undefined) children.want(namespace);
    const state = reading.secrets === undefined ? "Refused" : this.#cleaners.state(namespace);
    if (state === "Syncing") return undefined;
    if (reading.secrets === undefined || state === "Refused") {
      const refusal = notEnabled(config, namespace);
      return { accepted: undefined, refusal, unresolved: [], isRefused: true };
    }
    const verdict = acceptedPolicy(policy);
    return {
      accepted: "refusal" in verdict ? undefined : verdict,
      refusal: "refusal" in verdict ? verdict.refusal : undefined,
      unresolved: unresolvedSecrets(spec, reading.secrets),
      isRefused: false,
    };
  }

  /** Runs that name a policy which is gone, or another one of its name. The API server itself must say so. */
  async #endOrphans(
    key: string,
    object: Live<PolicyObject> | undefined,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { client, config, clock } = this.#context;
    const orphans = this.#runsOf(key, ({ spec }) => spec.policyRef.uid !== object?.metadata.uid);
    if (orphans.length === 0) return {};
    const live = await client.resource(CLEANUP_POLICIES).find(refOf(key), { signal });
    const isOurs = live !== undefined && (live.spec.instance ?? "default") === config.instance;
    if (isOurs && live.metadata.uid !== object?.metadata.uid) return { requeueAfterMs: CACHE_LAG_MS };
    const { namespace = "" } = refOf(key);
    const results: ReconcileResult[] = [];
    for (const [, runs] of groupBy(orphans, ({ spec }) => spec.policyRef.uid)) {
      const plan = planOrphans(runs, clock.now());
      await this.#runs.statuses(namespace, plan.statuses, signal);
      await this.#runs.prune(namespace, plan.prune, signal);
      results.push(this.#at(plan.nextLookAt));
    }
    return soonest(...results);
  }

  #runsOf(key: string, isWanted: (run: RunView) => boolean): readonly RunView[] {
    const { index } = this.#context;
    return index
      .runsOf(key)
      .map(({ run, leaseSeenAt }) => runView(run, leaseSeenAt))
      .filter(isWanted);
  }

  /**
   * Over the version that the reconcile looked at: what somebody else wrote meanwhile makes it a conflict, and another look.
   * @returns ms until it may be written, when it was not
   */
  async #writeStatus(
    { key, object, signal }: Subject,
    next: CleanupPolicyStatus,
    told: readonly PlannedEvent[],
  ): Promise<number | undefined> {
    const { client, index, events, clock } = this.#context;
    const waitMs = this.#statusWaitMs(key, next, clock.monotonic());
    if (waitMs > 0) return waitMs;
    const { metadata, status = {} } = object;
    const { uid, resourceVersion } = metadata;
    const patch = { status: mergePatchOf(status, next) ?? {} };
    const resource = client.resource(CLEANUP_POLICIES);
    const written = await resource.mergePatch(
      metadata,
      patch,
      { uid, resourceVersion },
      { subresource: "status", signal },
    );
    this.#written.note(key, clock.monotonic());
    index.putWrittenPolicy(slim(written));
    for (const { type, reason, note } of told) events.record(object, { type, reason, action: "Reconcile", note });
    return undefined;
  }

  #statusWaitMs(key: string, { scopes = [] }: CleanupPolicyStatus, now: number): number {
    const intervalMs = Math.min(MAX_STATUS_INTERVAL_MS, scopes.length * STATUS_MS_A_SCOPE);
    const waitMs = this.#written.waitMs(key, now) - MAX_STATUS_INTERVAL_MS + intervalMs;
    return waitMs > 0 ? waitMs : Math.ceil(this.#budget.take(now));
  }

  #at(time: number | undefined): ReconcileResult {
    if (time === undefined) return {};
    return { requeueAfterMs: Math.max(AGAIN_MS, time - this.#context.clock.now()) };
  }
}

/** What a call rejected with, to be thrown later; `undefined`: it did not. */
async function failureOf(call: Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** A time of the schedule whose runs could not be made is not settled, and nothing is told of it: it is looked at again. */
function withoutTick(
  { status, events }: PolicyPlan,
  before: CleanupPolicyStatus = {},
): Pick<PolicyPlan, "status" | "events"> {
  if (status === undefined) return { events: [] };
  const { schedule: _schedule, observedGeneration: _generation, ...rest } = status;
  const { schedule, observedGeneration } = before;
  const kept = {
    ...rest,
    ...(schedule !== undefined && { schedule }),
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
  const toldOf = events.filter(({ reason }) => !TICK_EVENTS.has(reason));
  return { ...(!samePolicyStatus(before, kept) && { status: kept }), events: toldOf };
}

function soonest(...results: readonly ReconcileResult[]): ReconcileResult {
  const first = Math.min(...results.flatMap(({ requeueAfterMs }) => requeueAfterMs ?? []));
  return Number.isFinite(first) ? { requeueAfterMs: first } : {};
}
