import type { GateTransition } from "../custody/gate.ts";
import { CustodyError, type Outbox, type Ticket, type TurnResult } from "../custody/port.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { silentLogger, type Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Attempt } from "./attempt.ts";
import { Attempts, LEASE_MARGIN_MS, logFields } from "./attempts.ts";
import { DeliveryMetrics } from "./delivery-metrics.ts";
import type { WorkerConfiguration, WorkerDestination } from "./destinations.ts";
import { Lanes } from "./lanes.ts";
import type { Lane, PendingSettle } from "./lane.ts";
import {
  confirmedLine,
  FENCED_LINE,
  gateLine,
  stoppingLine,
  storeLostLine,
  turnFailedLine,
  turnRecoveredLine,
} from "./narrative.ts";
import { Tickets } from "./tickets.ts";
import { TurnLoop } from "./turn-loop.ts";
import type { Turn } from "./turn.ts";

export interface WorkerOptions {
  readonly outbox: Outbox;
  readonly attempt: Attempt;
  /** See `workerDestinations`. */
  readonly destinations: WorkerConfiguration;
  /** Requests of this process at a time, over all destinations. Default 500. */
  readonly slots?: number;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  /** Uniform in [0, 1), for jitter. */
  readonly random?: () => number;
  /** A turn of this process changed the state of a destination's gate. Each change is told once, over all processes. */
  readonly onGate?: (transition: GateTransition, destination: WorkerDestination | undefined) => void;
}

/** How often tickets, heartbeats and gauges are looked after, ms. */
const TICK_MS = 250;
/**
 * While stopping, a store that confirms nothing is given up once the leases of this process have run out, but not before the first and not after the
 * second of these, ms from when nothing runs any more. Kubernetes gives a worker 75 s, of which requests may take 60 s.
 */
const GIVE_UP_MS = { least: 5_000, most: 30_000 };

/** A lane with requests under way is mentioned about so often anyway, ms: what opens later than this needs no timer of its own. */
const REOPEN_WITHIN_MS = 700;
/** What opens within this keeps its ticket, ms: a new one would cost more than the wait. */
const KEEP_TICKET_MS = 100;
const WARNED: ReadonlySet<string> = new Set(["Open", "Disabled"]);

/** Drains the destinations of one namespace for which it is handed tickets: takes, sends, settles. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #lanes: Lanes;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: DeliveryMetrics;
  readonly #stopping = new AbortController();
  readonly #attempts: Attempts;
  readonly #loop: TurnLoop;
  readonly #tickets: Tickets;
  #stopFetching: (() => Promise<void>) | undefined;
  #stopped: Promise<void> | undefined;
  #tick: NodeJS.Timeout | undefined;
  #failingSince: number | undefined;
  /** The last of all leases this process was given, monotonic ms. */
  #leasesEndAt = 0;
  /** Since when the stopping worker has nothing to do but to wait for a store that fails. */
  #onlyStoreSince: number | undefined;
  #drained: (() => void) | undefined;

  constructor(options: WorkerOptions) {
    const { outbox, attempt, clock = systemClock, logger = silentLogger, random = Math.random, slots = 500 } = options;
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#metrics = new DeliveryMetrics(options.metrics);
    const lanes = new Lanes(clock, (lane) => this.#metrics.inFlight(lane.destination, 0));
    this.#lanes = lanes;
    lanes.configure(options.destinations);
    this.#loop = new TurnLoop({
      outbox,
      lanes,
      clock,
      slots,
      mayTake: () => !this.#stopping.signal.aborted,
      onAnswer: (turn, result, sentAt) => this.#onAnswer(turn, result, sentAt),
      onFailure: (turn, error) => this.#onFailure(turn, error),
    });
    this.#attempts = new Attempts({
      lanes,
      clock,
      random,
      attempt,
      logger,
      signal: this.#stopping.signal,
      onOutcome: (pending) => this.#onOutcome(pending),
    });
    const wake = () => this.#loop.schedule();
    this.#tickets = new Tickets({ outbox, lanes, clock, logger, wake, stopping: this.#stopping.signal });
  }

  /** Begins to take tickets. */
  async start(): Promise<void> {
    this.#tick = setInterval(() => this.#onTick(), TICK_MS);
    this.#stopFetching = await this.#options.outbox.start({
      onTicket: (ticket: Ticket, signal) => this.#tickets.hold(ticket, signal),
      onHint: (destination) => this.#onHint(destination),
    });
  }

  /** Replaces the configuration of all destinations at once. Events that are queued already go by it from their next attempt. */
  update(destinations: WorkerConfiguration): void {
    const resumed = this.#lanes.configure(destinations);
    for (const lane of this.#lanes) this.#look(lane);
    this.#loop.schedule();
    // Without an answer they are looked at when their tickets come by again.
    if (resumed.length > 0) this.#options.outbox.lookAgain(resumed).catch(() => undefined);
  }

  /**
   * Takes nothing more, hands back what is not on the wire, awaits and settles what is, gives the tickets back.
   * Resolves when nothing is left. While the store refuses outcomes it goes on trying until its leases have run out, at most 30 s after the last request
   * ended.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const before = this.#lanes.held;
    this.#stopping.abort();
    // What could be recalled has become an outcome once the promises of this turn of the event loop have run.
    await new Promise((resolve) => setImmediate(resolve));
    let running = 0;
    for (const lane of this.#lanes) running += lane.running.size;
    this.#logger.info({ running, handedBack: before - running }, stoppingLine(running, before - running));
    this.#tickets.tend();
    const fetchingStopped = this.#stopFetching?.();
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
      this.#resolveIfDrained();
    });
    await fetchingStopped;
    clearInterval(this.#tick);
  }

  #onHint(destination: string): void {
    const lane = this.#lanes.get(destination);
    if (lane === undefined) return;
    lane.hinted = true;
    lane.nonEmpty = true;
    this.#look(lane);
    this.#loop.schedule();
  }

  #look(lane: Lane): void {
    if (lane.room > 0) this.#lanes.hungry.add(lane);
  }

  #onOutcome(pending: PendingSettle): void {
    const { lane } = pending.running;
    if (lane.nonEmpty) this.#lanes.hungry.add(lane);
    this.#metrics.attemptEnded(pending);
    this.#loop.schedule();
  }

  #onAnswer(turn: Turn, result: TurnResult, sentAt: number): void {
    this.#noteRecovery();
    for (const copy of result.copies) {
      const lane = this.#lanes.open(copy.destination);
      const timeoutMs = turn.request.policies.get(copy.destination)?.timeoutMs ?? lane.policy.timeoutMs;
      const leaseEndsAt = sentAt + timeoutMs + LEASE_MARGIN_MS;
      this.#leasesEndAt = Math.max(this.#leasesEndAt, leaseEndsAt);
      this.#attempts.start(copy, lane, leaseEndsAt);
    }
    this.#noteSettled(turn, result);
    this.#noteFound(turn, result);
    this.#noteGates(result);
    for (const lane of turn.lanes) this.#tickets.tendLane(lane, result.waiting.get(lane.id));
    this.#resolveIfDrained();
  }

  #noteSettled(turn: Turn, result: TurnResult): void {
    const fenced = new Set(result.fenced);
    for (const [index, pending] of turn.settles.entries()) {
      const { running, destination } = pending;
      if (fenced.has(index)) {
        this.#logger.warn(logFields(running, destination), FENCED_LINE);
        continue;
      }
      this.#metrics.confirmed(pending, running.copy.now + this.#clock.monotonic() - running.startedAt);
      const { outcome } = pending.settle;
      if (outcome !== "retry" && outcome !== "dead") continue;
      const othersGoOn = turn.settles.length > 1 || this.#lanes.held > 0 || running.lane.nonEmpty;
      this.#logger.info(logFields(running, destination), confirmedLine(othersGoOn));
    }
  }

  /** The store tells only totals: they are put down to a route when the turn was about one destination. */
  #noteFound(turn: Turn, { unknown, workerLost, expired }: TurnResult): void {
    if (unknown + workerLost + expired === 0) return;
    const [lane] = turn.lanes;
    const destination = turn.lanes.size === 1 ? lane?.destination : undefined;
    this.#metrics.unknown(unknown, destination);
    this.#metrics.workerLost(workerLost, destination);
    this.#logger.warn(
      { destinations: [...turn.lanes].map(({ id }) => id), unknown, workerLost, expired },
      "found copies whose process was lost, or that were too old",
    );
  }

  /** Changes are told; a gate that opens again soon is looked at then, with the ticket at hand. */
  #noteGates({ gates = [], reopenMs }: TurnResult): void {
    for (const transition of gates) {
      const destination = this.#lanes.get(transition.destination)?.destination;
      const level = WARNED.has(transition.to) ? "warn" : "info";
      const { namespace, routeName: route } = destination ?? {};
      this.#logger[level]({ namespace, route, gate: transition }, gateLine(transition));
      this.#options.onGate?.(transition, destination);
    }
    for (const [id, ms] of reopenMs ?? []) this.#reopenIn(this.#lanes.get(id), ms);
  }

  #reopenIn(lane: Lane | undefined, ms: number): void {
    if (lane === undefined || ms > REOPEN_WITHIN_MS) return;
    clearTimeout(lane.reopening);
    // Not worth a new ticket.
    if (ms <= KEEP_TICKET_MS) lane.doneNotBefore = this.#clock.monotonic() + ms;
    lane.reopening = setTimeout(() => this.#onHint(lane.id), ms);
    lane.reopening.unref();
  }

  #onFailure(turn: Turn, error: unknown): void {
    this.#tellFailure(turn, error);
    if (this.#drained !== undefined) this.#giveUpIfLost();
  }

  #giveUpIfLost(): void {
    const now = this.#clock.monotonic();
    for (const lane of this.#lanes) if (lane.running.size > 0) return;
    const waited = now - (this.#onlyStoreSince ??= now);
    if (waited < GIVE_UP_MS.least || (now < this.#leasesEndAt && waited < GIVE_UP_MS.most)) return;
    this.#logger.warn({ outcomes: this.#lanes.held }, storeLostLine(this.#lanes.held));
    this.#loop.halt();
    this.#drained?.();
    this.#drained = undefined;
  }

  #tellFailure(turn: Turn, error: unknown): void {
    if (this.#failingSince !== undefined) return;
    this.#failingSince = this.#clock.monotonic();
    const fields = error instanceof CustodyError ? { code: error.code } : { err: error };
    this.#logger.warn(fields, turnFailedLine(turn.settles.length));
  }

  #noteRecovery(): void {
    this.#onlyStoreSince = undefined;
    if (this.#failingSince === undefined) return;
    this.#logger.info(turnRecoveredLine(this.#clock.monotonic() - this.#failingSince));
    this.#failingSince = undefined;
  }

  #onTick(): void {
    this.#tickets.tend();
    for (const lane of this.#lanes) this.#metrics.inFlight(lane.destination, lane.running.size);
    this.#resolveIfDrained();
    this.#loop.schedule();
  }

  #resolveIfDrained(): void {
    if (this.#lanes.held === 0 && this.#loop.idle && this.#tickets.count === 0) this.#drained?.();
  }
}
