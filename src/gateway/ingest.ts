import type { IncomingMessage, ServerResponse } from "node:http";
import { CustodyError, type ClaimResult, type CustodyHealth, type Inbox, type NewEvent } from "../custody/port.ts";
import type { Fetch } from "../egress/guarded-fetch.ts";
import type { Clock } from "../lib/clock.ts";
import { monotonicUlids } from "../lib/ulid.ts";
import type { Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { RefusalReason, Verdict } from "../verification/types.ts";
import { findHandshake } from "../verification/handshakes/find.ts";
import type { Handshake } from "../verification/handshakes/handshake.ts";
import type { RouteObservation } from "../routes/observations.ts";
import { acceptedAnswer } from "./accepted-answer.ts";
import { Admission, type Turned } from "./admission.ts";
import { allowHeader } from "./allow-header.ts";
import { declaredLength, readBody, type BodyResult } from "../lib/request-body.ts";
import type { AddressSet } from "../lib/address-set.ts";
import { clientAddress } from "./client-address.ts";
import { checkRun, runLocation } from "./cleanup-push.ts";
import { chosenByRequest, notChosenText } from "./chosen-destination.ts";
import { claimedIdHash, identify } from "./dedupe-mark.ts";
import type { Endings, Exchange } from "./exchange.ts";
import { HandshakeDesk } from "./handshake.ts";
import { judge } from "./judge.ts";
import type { MaterialSource } from "./material/material-source.ts";
import { newEvent } from "./new-event.ts";
import { ObservationWindows } from "./observation-window.ts";
import { checkPayload } from "./payload.ts";
import { prepareRoute, type PreparedRoute } from "./prepared-route.ts";
import { removeRouteMeters } from "./route-meters.ts";
import { REFUSALS, type GatewayReason, type Outcome } from "./refusals.ts";
import { RejectionTrail } from "./rejection-trail.ts";
import { RequestView } from "./request-view.ts";
import { send, sendRefusal } from "./respond.ts";

type Accepted = Extract<Verdict, { ok: true }>;

/** What ingest needs of its surroundings. */
export interface IngestOptions {
  readonly inboxFor: (namespace: string) => Inbox;
  readonly health: () => CustodyHealth;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Proxies whose `X-Forwarded-For` is believed. */
  readonly trusted: AddressSet | undefined;
  /** Decides the client's address instead of `trusted`. */
  readonly clientAddress?: (request: IncomingMessage) => string;
  readonly backlog: (route: string) => number;
  readonly pods: () => number;
  /** ms after which an unanswered claim is answered 503. */
  readonly claimTimeoutMs: number;
  /** Name of the id in the answer's JSON. */
  readonly idField: string;
  /** Statuses that differ from the table, before a preset's. */
  readonly statuses: Readonly<Partial<Record<RefusalReason, number>>>;
  /** Public keys at providers. */
  readonly material: MaterialSource;
  /** Confirms handshakes. */
  readonly fetch: Fetch;
  /** Answers carry `Connection: close`. */
  readonly draining: () => boolean;
}

/** The hot path: from a matched route to the answer. Everything that can be decided before the body is read is. */
export class Ingest implements Endings {
  readonly #options: IngestOptions;
  readonly #admission: Admission;
  readonly #trail: RejectionTrail;
  readonly #desk: HandshakeDesk;
  readonly #windows = new ObservationWindows();
  readonly #nextId = monotonicUlids();
  readonly #prepared = new WeakMap<RouteEntry, PreparedRoute | "unusable">();

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#admission = new Admission(options);
    this.#trail = new RejectionTrail(options.logger, (namespace, rejection) =>
      options.inboxFor(namespace).reject(rejection),
    );
    this.#desk = new HandshakeDesk({ ...options, client: (request) => this.#client(request), endings: this });
  }

  /** What was seen of the routes within the last minutes. */
  observations(): readonly RouteObservation[] {
    return this.#windows.all(this.#options.clock.monotonic());
  }

  /** Forgets the limits and series of a route that is gone. */
  forget(entry: RouteEntry): void {
    const { route, namespace, name } = entry;
    this.#admission.forget(route);
    // Its meters are no longer shown: should the same entry come back, it needs new ones.
    this.#prepared.delete(entry);
    this.#windows.forget(route);
    removeRouteMeters(this.#options.metrics, namespace, name);
  }

  /** See `InsideDoor.enter`. */
  enterInside(route: PreparedRoute): Turned | undefined {
    return this.#admission.enterInside(route);
  }

  /** See `InsideDoor.leave`. */
  leaveInside(route: PreparedRoute): void {
    this.#admission.release(route);
  }

  /** Prepares a route's entry ahead of its first request. `undefined`, and one log line, when it cannot be used. */
  prepare(entry: RouteEntry): PreparedRoute | undefined {
    let prepared = this.#prepared.get(entry);
    if (prepared === undefined) {
      prepared = this.#tryPrepare(entry);
      this.#prepared.set(entry, prepared);
    }
    return prepared === "unusable" ? undefined : prepared;
  }

  #tryPrepare(entry: RouteEntry): PreparedRoute | "unusable" {
    try {
      return prepareRoute(entry, this.#options.metrics, this.#windows.of(entry.route));
    } catch (error) {
      const { namespace, name } = entry;
      this.#options.logger.error({ namespace, route: name, err: error }, "route cannot be used; its senders get 503");
      return "unusable";
    }
  }

  /**
   * Takes a request that matched a route and answers it.
   *
   * @param pathAndQuery as received
   * @param expectsContinue the sender waits for `100 Continue` before it sends the body
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    entry: RouteEntry,
    target: { readonly pathAndQuery: string; readonly expectsContinue: boolean },
  ): void {
    const route = this.prepare(entry);
    if (!route) return sendRefusal(request, response, REFUSALS.RouteUnusable);
    const exchange: Exchange = {
      request,
      response,
      route,
      view: new RequestView(request, target.pathAndQuery, entry.publicUrl),
      startedAt: this.#options.clock.monotonic(),
      entered: false,
      body: undefined,
      handshake: undefined,
      runId: undefined,
      done: false,
    };
    const turned = this.#admit(exchange);
    if (turned) return this.refuse(exchange, turned.reason, turned.reason, turned.retryAfter);
    if (request.readableEnded) return this.failed(exchange, new Error("the body was read before the gateway saw it"));
    if (target.expectsContinue) response.writeContinue();
    readBody(request, entry.limits.maxBodyBytes, (result) => this.#guard(exchange, () => this.#take(exchange, result)));
  }

  #admit(exchange: Exchange): Turned | undefined {
    const { request, route, view } = exchange;
    if (!route.admitted.has(view.method)) return { reason: "MethodNotAllowed" };
    if (view.header("host").length > 1) return { reason: "HostRepeated" };
    const turned = this.#admission.enter(route, () => this.#client(request), exchange.startedAt);
    if (turned) return turned;
    exchange.entered = true;
    const length = declaredLength(request);
    return length !== undefined && length > route.entry.limits.maxBodyBytes ? { reason: "BodyTooLarge" } : undefined;
  }

  /** A fault of ours is an answer as well, and never a 500: most senders give up on some of those for good. */
  #guard(exchange: Exchange, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.failed(exchange, error);
    }
  }

  #take(exchange: Exchange, result: BodyResult): void {
    if (exchange.done) return;
    if (result === "aborted") return this.finish(exchange, "aborted");
    if (result === "tooLarge") return this.refuse(exchange, "BodyTooLarge", "BodyTooLarge");
    exchange.body = result;
    exchange.view.body = result;
    const { route, view } = exchange;
    const handshake = this.#handshakeOf(exchange);
    exchange.handshake = handshake;
    if (handshake?.signed === false) return this.#desk.take(exchange, handshake);
    if (handshake === undefined && !route.methods.has(view.method)) {
      return this.refuse(exchange, "MethodNotAllowed", "no handshake of this route");
    }
    this.#verify(exchange);
  }

  /** An unsigned one that the route does not take now, and that is signed though, is as any request: Notion signs what holds its token with that token. */
  #handshakeOf(exchange: Exchange): Handshake | undefined {
    const { route, view } = exchange;
    const found = route.handshakes.length > 0 ? findHandshake(route.handshakes, view) : undefined;
    if (found?.signed !== false || !route.verifier.secretHeaders.some((name) => view.header(name).length > 0))
      return found;
    return this.#desk.isClosed(exchange, found) ? undefined : found;
  }

  #verify(exchange: Exchange): void {
    const now = this.#options.clock.now();
    const client = () => this.#client(exchange.request);
    const verdict = judge(exchange.route, exchange.view, now, { material: this.#options.material, client });
    if (!(verdict instanceof Promise)) return this.#judged(exchange, verdict, now);
    verdict.then(
      (late) => this.#guard(exchange, () => this.#judged(exchange, late, now)),
      (error: unknown) => this.failed(exchange, error),
    );
  }

  #judged(exchange: Exchange, verdict: Verdict, now: number): void {
    const { route, handshake } = exchange;
    if (!verdict.ok) {
      route.meters.unverified.inc();
      // What is wrong with us says nothing about the sender.
      if (verdict.status < 500) route.window.add("refused", exchange.startedAt);
      return this.refuse(exchange, verdict.reason, verdict.detail);
    }
    route.window.add("verified", exchange.startedAt);
    if (verdict.key) route.meters.verified[verdict.key.state].inc();
    if (verdict.signedAt !== undefined) route.meters.age.observe(Math.max(0, now - verdict.signedAt) / 1_000);
    if (handshake) this.#desk.take(exchange, handshake, verdict.key?.id);
    else this.#store(exchange, verdict, now);
  }

  #store(exchange: Exchange, verdict: Accepted, now: number): void {
    const { route, view } = exchange;
    const fault = checkPayload(route.payload, view) ?? checkRun(exchange);
    if (fault) return this.refuse(exchange, fault.reason, fault.detail);
    if (route.chosen && chosenByRequest(route.chosen, view) === undefined) {
      return this.refuse(exchange, "FieldMissing", notChosenText(route.chosen));
    }
    const identity = identify(route.dedupe, { view, verdict });
    if (identity.type === "missing") {
      return this.refuse(exchange, "DedupeKeyMissing", `${identity.part} is missing, empty or was sent twice`);
    }
    if (identity.type === "none" || identity.mark.weak) route.meters.withoutId.inc();
    void this.#claim(exchange, newEvent(exchange, verdict, identity, this.#nextId(now)));
  }

  async #claim(exchange: Exchange, event: NewEvent): Promise<void> {
    const { claimTimeoutMs } = this.#options;
    const timer = setTimeout(() => {
      this.refuse(exchange, "StoreUnavailable", `the store did not answer in ${claimTimeoutMs} ms`);
    }, claimTimeoutMs);
    try {
      const result = await this.#options.inboxFor(exchange.route.entry.namespace).claim(event);
      if (!exchange.done) this.#claimed(exchange, result);
    } catch (error) {
      this.failed(exchange, error);
    } finally {
      clearTimeout(timer);
    }
  }

  #claimed(exchange: Exchange, { outcome, id }: ClaimResult): void {
    if (outcome === "reused") return this.refuse(exchange, "SignatureReused", "signed for another body before");
    const { route, response } = exchange;
    const told = { id, replayed: outcome !== "new", location: runLocation(exchange) };
    const answer = acceptedAnswer(route, told, this.#options.idField);
    if (this.#options.draining()) answer.headers["connection"] = "close";
    send(response, answer.status, answer.headers, answer.body);
    if (outcome === "new") route.meters.accepted.inc();
    else route.meters.duplicates.inc();
    if (outcome === "revived") route.meters.replayed.inc();
    this.finish(exchange, outcome === "new" ? "accepted" : outcome);
  }

  failed(exchange: Exchange, error: unknown): void {
    if (error instanceof CustodyError) {
      return this.refuse(
        exchange,
        error.code === "OutOfMemory" ? "StoreFull" : "StoreUnavailable",
        `store: ${error.code}`,
      );
    }
    const { namespace, name } = exchange.route.entry;
    this.#options.logger.error({ namespace, route: name, err: error }, "request could not be handled");
    this.refuse(exchange, "Unexpected", "unexpected error");
  }

  refuse(exchange: Exchange, reason: GatewayReason, detail: string, retryAfter?: number): void {
    if (exchange.done) return;
    const refusal = REFUSALS[reason];
    const { request, response, route, view } = exchange;
    const status = this.#statusOf(route, reason) ?? refusal.status;
    sendRefusal(request, response, refusal, { status, retryAfter, headers: this.#extraHeaders(exchange, reason) });
    this.finish(exchange, refusal.outcome);
    const { namespace, name, route: key } = route.entry;
    this.#trail.record(
      {
        namespace,
        name,
        route: key,
        status,
        reason,
        detail,
        traced: refusal.traced,
        client: () => this.#client(request),
        headerNames: () => view.headerNames(),
        body: exchange.body,
        idHash: () => (exchange.body ? claimedIdHash(route.dedupe, view) : undefined),
      },
      { unix: this.#options.clock.now(), monotonic: this.#options.clock.monotonic() },
    );
  }

  #statusOf(route: PreparedRoute, reason: GatewayReason): number | undefined {
    const own: Readonly<Partial<Record<string, number>>> = this.#options.statuses;
    return own[reason] ?? route.statusOverrides[reason];
  }

  /** `Allow` with 405 (RFC 9110 §15.5.6), the challenge with refused credentials (§11.6.1). */
  #extraHeaders({ route, request, view }: Exchange, reason: GatewayReason): Record<string, string> {
    return {
      ...(reason === "MethodNotAllowed" && { allow: allowHeader(route, request, view) }),
      ...(reason === "CredentialsMismatch" && { "www-authenticate": 'Basic realm="davit", charset="UTF-8"' }),
      ...(this.#options.draining() && { connection: "close" }),
    };
  }

  finish(exchange: Exchange, outcome: Outcome): void {
    exchange.done = true;
    const { route, startedAt } = exchange;
    if (exchange.entered) this.#admission.release(route);
    route.meters.requests[outcome]?.inc();
    const durationMs = this.#options.clock.monotonic() - startedAt;
    route.meters.duration.observe(durationMs / 1_000);
    route.window.add("requests", startedAt);
    if (durationMs > route.slowMs) route.window.add("slow", startedAt);
  }

  #client(request: IncomingMessage): string {
    return this.#options.clientAddress?.(request) ?? clientAddress(request, this.#options.trusted);
  }
}
