import type { IncomingMessage, ServerResponse } from "node:http";
import { CustodyError, type ClaimResult, type CustodyHealth, type Inbox, type NewEvent } from "../custody/port.ts";
import type { Clock } from "../lib/clock.ts";
import { monotonicUlids } from "../lib/ulid.ts";
import type { Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { RefusalReason, Verdict } from "../verification/types.ts";
import { Admission, type Turned } from "./admission.ts";
import { declaredLength, readBody, type BodyResult } from "./body.ts";
import type { AddressSet } from "../lib/address-set.ts";
import { clientAddress } from "./client-address.ts";
import { identify } from "./dedupe-mark.ts";
import { KEPT_SIGNATURE, keptHeaders } from "./kept-headers.ts";
import { checkPayload, eventTypeOf, LazyJson } from "./payload.ts";
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
  /** Answers carry `Connection: close`. */
  readonly draining: () => boolean;
}

/** A request on its way through the gateway. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: PreparedRoute;
  readonly view: RequestView;
  /** Monotonic ms. */
  readonly startedAt: number;
  /** Holds a place in the route's in-flight limit. */
  entered: boolean;
  body: Buffer | undefined;
  done: boolean;
}

/** The hot path: from a matched route to the answer. Everything that can be decided before the body is read is. */
export class Ingest {
  readonly #options: IngestOptions;
  readonly #admission: Admission;
  readonly #trail: RejectionTrail;
  readonly #nextId = monotonicUlids();
  readonly #prepared = new WeakMap<RouteEntry, PreparedRoute | "unusable">();

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#admission = new Admission(options);
    this.#trail = new RejectionTrail(options.logger, (namespace, rejection) =>
      options.inboxFor(namespace).reject(rejection),
    );
  }

  /** Forgets the limits and series of a route that is gone. */
  forget(entry: RouteEntry): void {
    const { route, namespace, name } = entry;
    this.#admission.forget(route);
    // Its meters are no longer shown: should the same entry come back, it needs new ones.
    this.#prepared.delete(entry);
    removeRouteMeters(this.#options.metrics, namespace, name);
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
      return prepareRoute(entry, this.#options.metrics);
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
      done: false,
    };
    const turned = this.#admit(exchange);
    if (turned) return this.#refuse(exchange, turned.reason, turned.reason, turned.retryAfter);
    if (request.readableEnded)
      return this.#unexpected(exchange, new Error("the body was read before the gateway saw it"));
    if (target.expectsContinue) response.writeContinue();
    readBody(request, entry.limits.maxBodyBytes, (result) => this.#guard(exchange, () => this.#take(exchange, result)));
  }

  #admit(exchange: Exchange): Turned | undefined {
    const { request, route, view } = exchange;
    if (!route.methods.has(view.method)) return { reason: "MethodNotAllowed" };
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
      this.#unexpected(exchange, error);
    }
  }

  #unexpected(exchange: Exchange, error: unknown): void {
    const { namespace, name } = exchange.route.entry;
    this.#options.logger.error({ namespace, route: name, err: error }, "request could not be handled");
    this.#refuse(exchange, "Unexpected", "unexpected error");
  }

  #take(exchange: Exchange, result: BodyResult): void {
    if (exchange.done) return;
    if (result === "aborted") return this.#finish(exchange, "aborted");
    if (result === "tooLarge") return this.#refuse(exchange, "BodyTooLarge", "BodyTooLarge");
    exchange.body = result;
    exchange.view.body = result;
    const { route, view } = exchange;
    const now = this.#options.clock.now();
    const verdict = route.verifier.verify(view, route.keys, now);
    if (!verdict.ok) {
      route.meters.unverified.inc();
      return this.#refuse(exchange, verdict.reason, verdict.detail);
    }
    if (verdict.key) route.meters.verified[verdict.key.state].inc();
    if (verdict.signedAt !== undefined) route.meters.age.observe(Math.max(0, now - verdict.signedAt) / 1_000);
    this.#store(exchange, verdict, now);
  }

  #store(exchange: Exchange, verdict: Accepted, now: number): void {
    const { route, view } = exchange;
    const json = new LazyJson(view.body);
    const fault = checkPayload(route.payload, json);
    if (fault) return this.#refuse(exchange, fault.reason, fault.detail);
    const identity = identify(route.dedupe, { view, json, verdict });
    if (identity.type === "missing") {
      return this.#refuse(exchange, "DedupeKeyMissing", `${identity.part} is missing, empty or was sent twice`);
    }
    const mark = identity.type === "mark" ? identity.mark : undefined;
    const eventType = eventTypeOf(route.payload, view, json);
    void this.#claim(exchange, {
      id: this.#nextId(now),
      policy: mark?.weak ? route.weakPolicy : route.policy,
      mark,
      headers: this.#headers(exchange, verdict),
      body: view.body,
      seq: route.entry.seq,
      ...(eventType !== undefined && { eventType }),
      destinations: route.copies(eventType),
    });
  }

  #headers({ request, route }: Exchange, verdict: Accepted): Record<string, string> {
    const headers = keptHeaders(route.headers, request.headers);
    if (route.keepsSignature && verdict.signature !== undefined) headers[KEPT_SIGNATURE] = verdict.signature;
    return headers;
  }

  async #claim(exchange: Exchange, event: NewEvent): Promise<void> {
    const { claimTimeoutMs } = this.#options;
    const timer = setTimeout(() => {
      this.#refuse(exchange, "StoreUnavailable", `the store did not answer in ${claimTimeoutMs} ms`);
    }, claimTimeoutMs);
    try {
      const result = await this.#options.inboxFor(exchange.route.entry.namespace).claim(event);
      if (!exchange.done) this.#claimed(exchange, result);
    } catch (error) {
      this.#claimFailed(exchange, error);
    } finally {
      clearTimeout(timer);
    }
  }

  #claimFailed(exchange: Exchange, error: unknown): void {
    if (!(error instanceof CustodyError)) return this.#unexpected(exchange, error);
    this.#refuse(exchange, error.code === "OutOfMemory" ? "StoreFull" : "StoreUnavailable", `store: ${error.code}`);
  }

  #claimed(exchange: Exchange, { outcome, id }: ClaimResult): void {
    if (outcome === "reused") return this.#refuse(exchange, "SignatureReused", "signed for another body before");
    const { route, response } = exchange;
    const { status } = route.entry.response;
    const body = status === 204 ? "" : `{"${this.#options.idField}":"${id}","replayed":${outcome !== "new"}}`;
    send(
      response,
      status,
      {
        ...(status !== 204 && { "content-type": "application/json", "content-length": body.length }),
        "davit-event-id": id,
        ...(this.#options.draining() && { connection: "close" }),
      },
      body,
    );
    if (outcome === "new") route.meters.accepted.inc();
    else route.meters.duplicates.inc();
    if (outcome === "revived") route.meters.replayed.inc();
    this.#finish(exchange, outcome === "new" ? "accepted" : outcome);
  }

  #refuse(exchange: Exchange, reason: GatewayReason, detail: string, retryAfter?: number): void {
    if (exchange.done) return;
    const refusal = REFUSALS[reason];
    const { request, response, route, view } = exchange;
    const status = this.#statusOf(route, reason) ?? refusal.status;
    sendRefusal(request, response, refusal, { status, retryAfter, headers: this.#extraHeaders(route, reason) });
    this.#finish(exchange, refusal.outcome);
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
      },
      { unix: this.#options.clock.now(), monotonic: this.#options.clock.monotonic() },
    );
  }

  #statusOf(route: PreparedRoute, reason: GatewayReason): number | undefined {
    const own: Readonly<Partial<Record<string, number>>> = this.#options.statuses;
    return own[reason] ?? route.statusOverrides[reason];
  }

  /** `Allow` with 405 (RFC 9110 §15.5.6), the challenge with refused credentials (§11.6.1). */
  #extraHeaders(route: PreparedRoute, reason: GatewayReason): Record<string, string> {
    return {
      ...(reason === "MethodNotAllowed" && { allow: route.allow }),
      ...(reason === "CredentialsMismatch" && { "www-authenticate": 'Basic realm="davit", charset="UTF-8"' }),
      ...(this.#options.draining() && { connection: "close" }),
    };
  }

  #finish(exchange: Exchange, outcome: Outcome): void {
    exchange.done = true;
    const { route, startedAt } = exchange;
    if (exchange.entered) this.#admission.release(route);
    route.meters.requests[outcome]?.inc();
    route.meters.duration.observe((this.#options.clock.monotonic() - startedAt) / 1_000);
  }

  #client(request: IncomingMessage): string {
    return this.#options.clientAddress?.(request) ?? clientAddress(request, this.#options.trusted);
  }
}
