import { sleep, systemTimers, type Timers } from "../lib/timers.ts";
import type { KubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import type { KubeClient } from "./client.ts";
import { LEASES, type Lease } from "./core-types.ts";
import { isAlreadyExists, isConflict } from "./errors.ts";
import { NotLeaderError, type Fence } from "./fence.ts";
import { claimedSpec, leaseFacts, LeaseObservation, releasedSpec } from "./lease-record.ts";
import type { Live } from "./objects.ts";
import type { ResourceClient } from "./resource-client.ts";

/** Others wait this long after the last renewal that they saw. */
const LEASE_DURATION_MS = 15_000;
/** A leader that could not renew for this long stops writing. The 5 s between are the margin for writes in flight. */
const RENEW_DEADLINE_MS = 10_000;
const RETRY_PERIOD_MS = 2_000;

/** Which Lease, who we are, and the times (defaults: controller-runtime's 15 s, 10 s, 2 s). */
export interface ElectionOptions {
  /** A client without a fence of its own. */
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of the Lease; also the label of `leader_election_master_status`. */
  readonly name: string;
  /** Different in every process that ever was: `<host>_<uuid>`. */
  readonly identity: string;
  readonly metrics: Pick<KubernetesMetrics, "leaderElection">;
  readonly labels?: Readonly<Record<string, string>>;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  readonly timers?: Timers;
  /** Failed attempts that are tried again. */
  readonly onError?: (error: unknown) => void;
}

/** Leadership ended although nobody asked for it. The process should end: what it holds in memory may be old. */
export class LeadershipLostError extends Error {
  override readonly name = "LeadershipLostError";
  readonly code = "LeadershipLost";
}

/**
 * Leader election on a `coordination.k8s.io/v1` Lease. One term a process. It is the {@link Fence} of whatever the leader writes: the right to write
 * ends `renewDeadline` after the *start* of the last successful renewal, on the monotonic clock and on the wall clock (the former stands still while
 * a virtual machine is suspended), so a process that was stopped and continues knows it before it sends anything.
 */
export class LeaderElector implements Fence {
  readonly #options: ElectionOptions;
  readonly #timers: Timers;
  readonly #leases: ResourceClient<Lease>;
  readonly #seen = new LeaseObservation();
  readonly #term = new AbortController();
  readonly #durationMs: number;
  readonly #deadlineMs: number;
  readonly #retryMs: number;
  #lease: Live<Lease> | undefined;
  #leading = false;
  #ended = false;
  #until = { monotonic: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#leases = options.client.resource(LEASES);
    this.#durationMs = options.leaseDurationMs ?? LEASE_DURATION_MS;
    this.#deadlineMs = options.renewDeadlineMs ?? RENEW_DEADLINE_MS;
    this.#retryMs = options.retryPeriodMs ?? RETRY_PERIOD_MS;
    if (this.#deadlineMs >= this.#durationMs) throw new RangeError("renewDeadline must be shorter than leaseDuration");
    this.#gauge(0);
  }

  /** Fires with {@link NotLeaderError} when the term is lost. */
  get signal(): AbortSignal {
    return this.#term.signal;
  }

  /** Whether this process may write now. */
  isLeader(): boolean {
    const { monotonic, wall } = this.#until;
    return this.#leading && this.#timers.monotonic() < monotonic && this.#timers.now() < wall;
  }

  check(): void {
    if (!this.isLeader()) throw this.#notLeader();
  }

  /**
   * Waits for the Lease, then runs `lead` and renews. When `signal` fires, `lead`'s signal fires, its promise is awaited while the Lease is still
   * renewed, and the Lease is let go, so that a successor starts at once.
   * @param lead its signal fires when it has to stop; it may also return by itself, which ends the term
   * @throws LeadershipLostError when the Lease could not be renewed in time or somebody else took it; whatever `lead` throws
   */
  async run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (!(await this.#acquire(signal))) return;
    const renewing = new AbortController();
    const renewal = this.#renew(renewing.signal);
    try {
      await lead(AbortSignal.any([signal, this.#term.signal]));
    } finally {
      renewing.abort();
      await renewal;
      await this.#release();
    }
    if (this.#ended) throw new LeadershipLostError(`leadership of ${this.#where()} was lost`);
  }

  /** @returns false when the signal fired first */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      if (signal.aborted || (await this.#attempt(signal))) break;
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(this.#timers, this.#untilNextLookMs(), signal);
    }
    return this.#leading;
  }

  /** The time between two looks, but no later than the moment at which the Lease runs out: a takeover then waits for nothing else. */
  #untilNextLookMs(): number {
    const free = this.#seen.freeInMs(this.#options.identity, this.#timers.monotonic());
    const usual = this.#retryMs * (1 + 0.2 * Math.random());
    // A Lease that was free was not to be had, so there is nothing to wait for.
    return free > 0 ? Math.min(usual, free) : usual;
  }

  async #renew(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const cancel = this.#timers.after(this.#until.monotonic - this.#timers.monotonic(), () => this.#loseIfLate());
      // oxlint-disable-next-line no-await-in-loop -- one renewal after the other
      await sleep(this.#timers, this.#retryMs, AbortSignal.any([stop, this.#term.signal]));
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (!stop.aborted && !this.#ended) await this.#attempt(this.#term.signal);
      cancel();
      this.#loseIfLate();
      if (this.#ended) return;
    }
  }

  /** Takes or renews the Lease. Never throws. @returns whether it is ours */
  async #attempt(signal: AbortSignal): Promise<boolean> {
    const started = { monotonic: this.#timers.monotonic(), wall: this.#timers.now() };
    const call = { signal, timeoutMs: Math.max(1_000, this.#deadlineMs / 2) };
    try {
      const known = this.#leading ? this.#lease : await this.#look(call);
      if (known && !this.#seen.freeFor(this.#options.identity, this.#timers.monotonic())) {
        if (this.#leading) this.#lose();
        return false;
      }
      this.#took(await this.#write(known, call), started);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (isConflict(error) || isAlreadyExists(error)) return this.#afterConflict(call);
      this.#options.onError?.(error);
      return false;
    }
  }

  async #look(call: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<Live<Lease> | undefined> {
    const { namespace, name } = this.#options;
    this.#lease = await this.#leases.find({ namespace, name }, call);
    if (this.#lease) this.#seen.see(leaseFacts(this.#lease), this.#timers.monotonic());
    return this.#lease;
  }

  #write(
    known: Live<Lease> | undefined,
    call: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<Live<Lease>> {
    const { namespace, name, identity, labels } = this.#options;
    const spec = claimedSpec(known?.spec, { identity, durationMs: this.#durationMs, now: this.#timers.now() });
    if (known) return this.#leases.update({ ...known, spec }, call);
    return this.#leases.create({ metadata: { namespace, name, ...(labels ? { labels } : {}) }, spec }, call);
  }

  /** Somebody wrote in between: a candidate has lost the race; a leader looks who, since it may have been its own write whose answer was lost. */
  async #afterConflict(call: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<boolean> {
    if (!this.#leading) return false;
    try {
      const lease = await this.#look(call);
      if (lease && leaseFacts(lease).holder !== this.#options.identity) this.#lose();
    } catch (error) {
      this.#options.onError?.(error);
    }
    return false;
  }

  #took(lease: Live<Lease>, started: { readonly monotonic: number; readonly wall: number }): void {
    this.#lease = lease;
    this.#seen.see(leaseFacts(lease), this.#timers.monotonic());
    this.#until = { monotonic: started.monotonic + this.#deadlineMs, wall: started.wall + this.#deadlineMs };
    this.#leading = true;
    this.#gauge(1);
  }

  #loseIfLate(): void {
    if (this.#timers.monotonic() >= this.#until.monotonic) this.#lose();
  }

  #lose(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leading = false;
    this.#gauge(0);
    this.#term.abort(this.#notLeader());
  }

  /** Best effort: without it the successor waits for the lease to run out. */
  async #release(): Promise<void> {
    const mine = this.isLeader() ? this.#lease : undefined;
    this.#leading = false;
    this.#gauge(0);
    if (!mine) return;
    try {
      const spec = releasedSpec(mine.spec, this.#timers.now());
      await this.#leases.update({ ...mine, spec }, { timeoutMs: Math.max(1_000, this.#deadlineMs / 2) });
    } catch (error) {
      this.#options.onError?.(error);
    }
  }

  #gauge(value: 0 | 1): void {
    this.#options.metrics.leaderElection.set({ name: this.#options.name }, value);
  }

  #notLeader(): NotLeaderError {
    return new NotLeaderError(`this process does not hold the lease ${this.#where()}`);
  }

  #where(): string {
    return `${this.#options.namespace}/${this.#options.name}`;
  }
}
