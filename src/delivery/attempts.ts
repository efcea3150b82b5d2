import type { AttemptRecord, Settle, TakenCopy } from "../custody/port.ts";
import { errorCode } from "../egress/error-code.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../observability/logger.ts";
import type { Attempt, AttemptResult } from "./attempt.ts";
import { wantsEventType } from "../routes/event-types.ts";
import type { WorkerDestination, WorkerRoute } from "./destinations.ts";
import type { Lane, PendingSettle, Running } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import { gateEffect } from "./gate-effect.ts";
import { attemptLine, errorText, noSuchLine, removedLine } from "./narrative.ts";
import { redact } from "./redact.ts";
import { decide, type Decision, type FinishedAttempt } from "./retry-policy.ts";
import { deathOfMissing, judgeShared, parkedMs } from "./shared-destinations.ts";

/** A lease lasts the timeout and this much more, ms (`custody.md` §3). */
export const LEASE_MARGIN_MS = 5_000;
/** Bytes of a response that are kept when it was a success: enough for "ignored" and the like. */
const KEPT_OF_SUCCESS = 256;

export interface AttemptsOptions {
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly random: () => number;
  readonly attempt: Attempt;
  readonly logger: Logger;
  /** Aborts when the worker stops. */
  readonly signal: AbortSignal;
  /** An outcome waits to be settled. */
  readonly onOutcome: (pending: PendingSettle) => void;
}

/** Carries out taken copies and turns what happened into outcomes. */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** @param leaseEndsAt monotonic ms, see {@link Running} */
  start(copy: TakenCopy, lane: Lane, leaseEndsAt: number): void {
    const { lanes, clock, signal } = this.#options;
    const running: Running = { copy, lane, startedAt: clock.monotonic(), leaseEndsAt };
    lanes.start(running);
    const { destination } = lane;
    if (signal.aborted) return this.#unsent(running, "handedBack");
    if (destination === undefined) return this.#withoutDestination(running);
    if (!lane.takeable) return this.#unsent(running, "handedBack");
    if (destination.forRoute !== undefined) return this.#startShared(running, destination.forRoute);
    this.#send(running, destination);
  }

  /** A copy of a WebhookDestination goes by what that is to its own route. */
  #startShared(running: Running, forRoute: NonNullable<WorkerDestination["forRoute"]>): void {
    const judgement = judgeShared(forRoute, running.copy, this.#options.clock.now());
    if (judgement.type === "send") return this.#send(running, judgement.destination);
    if (judgement.type === "gone") return this.#withoutDestination(running);
    if (judgement.type === "park") return this.#unsent(running, "parked");
    const { copy } = running;
    const record = { attempt: copy.attempt, at: copy.now, action: "expired" } as const;
    this.#finish({ settle: settleFrame(copy, record, "expired"), running, destination: judgement.destination });
  }

  #send(running: Running, destination: WorkerDestination): void {
    const { copy } = running;
    const { signal } = this.#options;
    if (!wantsEventType(destination.entry.eventTypes, copy.eventType)) return this.#unsent(running, "ignored");
    const context = { signal, beforeWrite: () => this.#mayWrite(running, destination) };
    this.#carryOut(copy, destination, context).then(
      (result) => this.#ended(running, destination, result),
      (error: unknown) => this.#ended(running, destination, this.#threw(running, error)),
    );
  }

  /** An attempt that throws before it returns a promise is one that rejects. */
  async #carryOut(...args: Parameters<Attempt>): Promise<AttemptResult> {
    return await this.#options.attempt(...args);
  }

  /** The whole exchange must fit into what is left of the lease, or somebody else may hold the copy while we send it. */
  #mayWrite(running: Running, destination: WorkerDestination): boolean {
    const { clock, signal } = this.#options;
    if (signal.aborted) return false;
    const endsAt = running.startedAt + destination.entry.timeoutMs;
    return clock.monotonic() < endsAt && endsAt < running.leaseEndsAt;
  }

  #threw(running: Running, error: unknown): FinishedAttempt {
    const code = errorCode(error);
    this.#options.logger.error(
      { destination: running.lane.id, event: running.copy.eventId, code },
      "an attempt failed inside this process; it counts as an error that is retried",
    );
    const durationMs = Math.round(this.#options.clock.monotonic() - running.startedAt);
    return { type: "error", code: "internal_error", durationMs };
  }

  #ended(running: Running, destination: WorkerDestination, result: AttemptResult): void {
    if (result.type === "notSent") return this.#unsent(running, "handedBack");
    const { clock, random, logger } = this.#options;
    const { copy } = running;
    // The store's clock: what it said when it gave the copy, and the time since.
    const now = copy.now + Math.round(clock.monotonic() - running.startedAt);
    const { retry, timeoutMs, name } = destination.entry;
    const decision = decide(result, copy, retry, { now, random, timeoutMs });
    const level = decision.outcome === "delivered" ? "debug" : "info";
    if (logger.isLevelEnabled(level)) {
      const line = attemptLine({ destination: name, copy, result, decision, policy: retry, now });
      logger[level](logFields(running, destination), line);
    }
    const outcome = settleOf(copy, recordOf(copy, result, decision), decision);
    const gate = { ...gateEffect(result, now), generation: copy.gateGeneration ?? 0 };
    const settle = destination.policy.gate === undefined ? outcome : { ...outcome, gate };
    this.#finish({ settle, running, result, destination });
  }

  /**
   * Its route lost the destination after the event was accepted: a dead letter. A config older than the event knows nothing of that, and one that lacks
   * the route of nothing at all: then it is left alone.
   */
  #withoutDestination(running: Running): void {
    const { copy, lane } = running;
    const { route, reason } = this.#deathOf(running);
    if (route === undefined || reason === undefined) return this.#unsent(running, "parked");
    const { namespace, name } = route;
    const line = reason === "NoSuchDestination" ? noSuchLine : removedLine;
    this.#options.logger.info(
      { namespace, route: name, destination: lane.id, event: copy.eventId },
      line(lane.id, `${namespace}/${name}`),
    );
    const record = { attempt: copy.attempt, at: copy.now, action: "dead", reason } as const;
    this.#finish({ settle: settleFrame(copy, record, "dead"), running, destination: undefined, route });
  }

  #deathOf({ copy, lane }: Running): {
    readonly route?: WorkerRoute | undefined;
    readonly reason?: string | undefined;
  } {
    const { lanes } = this.#options;
    if (lane.id.startsWith("~")) {
      const route = lanes.route(copy.route);
      return { route, reason: deathOfMissing(copy, route, lanes.isLive) };
    }
    const route = lane.removedFrom;
    return route === undefined || route.seq < copy.seq ? {} : { route, reason: "DestinationRemoved" };
  }

  #unsent(running: Running, outcome: "handedBack" | "parked" | "ignored"): void {
    const { copy, lane } = running;
    const record: AttemptRecord = { attempt: copy.attempt, at: copy.now, action: "started" };
    const reason = outcome === "ignored" ? { reason: "EventTypeNotWanted" } : undefined;
    const settle = settleFrame(copy, { ...record, ...reason }, outcome);
    this.#finish({
      settle: outcome === "parked" ? { ...settle, delayMs: parkedMs(copy) } : settle,
      running,
      destination: lane.destination,
    });
  }

  #finish(pending: PendingSettle): void {
    const finished = withRoutePolicy(pending);
    this.#options.lanes.finish(finished);
    this.#options.onOutcome(finished);
  }
}

/** What is kept of an event, and how long, is its route's to say, also where several routes share the destination. */
function withRoutePolicy(pending: PendingSettle): PendingSettle {
  const { settle, destination, route } = pending;
  const policy = route?.policy ?? destination?.policy.policy;
  if (!settle.destination.startsWith("~") || policy === undefined) return pending;
  return { ...pending, settle: { ...settle, policy } };
}

/** The fields every line about a copy has. */
export function logFields(running: Running, destination: WorkerDestination | undefined): Record<string, unknown> {
  const { removedFrom } = running.lane;
  return {
    namespace: destination?.namespace ?? removedFrom?.namespace,
    route: destination?.routeName ?? removedFrom?.name,
    destination: destination?.entry.name ?? running.lane.id,
    event: running.copy.eventId,
    attempt: running.copy.attempt,
  };
}

function settleOf(copy: TakenCopy, record: AttemptRecord, decision: Decision): Settle {
  const settle = settleFrame(copy, record, decision.outcome);
  return decision.outcome === "retry" ? { ...settle, delayMs: decision.delayMs } : settle;
}

function settleFrame(copy: TakenCopy, record: AttemptRecord, outcome: Settle["outcome"]): Settle {
  return { destination: copy.destination, eventId: copy.eventId, fence: copy.fence, outcome, record };
}

function recordOf(copy: TakenCopy, result: FinishedAttempt, decision: Decision): AttemptRecord {
  const error = errorText(result);
  const delivered = decision.outcome === "delivered";
  const frame = { attempt: copy.attempt, at: copy.now, durationMs: result.durationMs, action: decision.outcome };
  const record: { -readonly [K in keyof AttemptRecord]: AttemptRecord[K] } = frame;
  if (result.type === "response") {
    record.status = result.status;
    const head = delivered ? result.head.slice(0, KEPT_OF_SUCCESS) : result.head;
    if (head !== "") record.response = redact(head);
  }
  if (error !== undefined) record.error = redact(error);
  if (decision.outcome === "retry") {
    record.delayMs = decision.delayMs;
    record.delaySource = decision.delaySource;
  }
  if (decision.outcome === "dead") record.reason = decision.reason;
  return record;
}
