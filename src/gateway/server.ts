import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { CustodyHealth, Inbox } from "../custody/port.ts";
import { guardedFetch, type Fetch } from "../egress/guarded-fetch.ts";
import type { EgressGuard } from "../egress/guard.ts";
import type { Clock } from "../lib/clock.ts";
import type { Readiness } from "../observability/http.ts";
import type { Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { RouteObservation } from "../routes/observations.ts";
import type { RefusalReason } from "../verification/types.ts";
import { addressSet } from "../lib/address-set.ts";
import { answerConnectionErrors } from "../lib/connection-errors.ts";
import { CLAIM_TIMEOUT_MS } from "./claim-timeout.ts";
import { cleaningRoutes } from "./cleanup-push.ts";
import { closeServer, SERVER_OPTIONS } from "../lib/http-server.ts";
import { Ingest } from "./ingest.ts";
import type { InsideDoor } from "./inside-door.ts";
import { FetchedMaterial, type MaterialSource } from "./material/material-source.ts";
import { REFUSALS, type GatewayReason } from "./refusals.ts";
import { requestTarget } from "./request-target.ts";
import { sendRefusal } from "./respond.ts";
import { ServedRoutes } from "./served-routes.ts";

/** A gateway whose clock is further off than this judges timestamps wrongly. */
const MAX_CLOCK_OFFSET_MS = 30_000;

/** Where a request belongs. `vanished`: the route was removed less than 15 minutes ago. */
export interface RouteTable {
  lookup(host: string, path: string, method: string): RouteEntry | "vanished" | undefined;
}

export interface GatewayOptions {
  readonly table: RouteTable;
  readonly inboxFor: (namespace: string) => Inbox;
  /** What the store's monitor last saw. */
  readonly health: () => CustodyHealth;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** CIDRs of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[];
  /** Decides the client's address instead of `trustedProxies`. */
  readonly clientAddress?: (request: IncomingMessage) => string;
  /** Takes whatever no route takes, for example an Express app. Default: 404 in JSON. */
  readonly app?: RequestListener;
  /** Events waiting in a route's destinations (by route key). Default: 0. */
  readonly backlog?: (route: string) => number;
  /** Gateway pods that share a rate of `by: Route`. Default: 1. */
  readonly pods?: () => number;
  readonly claimTimeoutMs?: number;
  /** Name of the event's id in the answer's JSON. Default `id`. */
  readonly idField?: string;
  /** Statuses that differ from the table of answers. */
  readonly statuses?: Readonly<Partial<Record<RefusalReason, number>>>;
  /** Where requests of the gateway itself may lead: public keys at providers, confirmations of handshakes. Default: public addresses. */
  readonly egress?: EgressGuard;
  /** Makes those requests. Default: one of its own, behind {@link egress}. */
  readonly fetch?: Fetch;
  /** PEM of the authorities whose certificates are believed. Default: Node's. */
  readonly roots?: readonly string[];
  /** Where public keys at providers come from. Default: fetched. */
  readonly material?: MaterialSource;
  /** Further conditions of being ready. */
  readonly ready?: () => Readiness;
}

/** The HTTP edge. */
export interface Gateway {
  /** Not listening yet. */
  readonly server: Server;
  /** Prepares the routes that the table now serves, so that no request pays for it, and forgets those that are gone. */
  update(entries: readonly RouteEntry[]): void;
  /** {@link Gateway.update} by what differs: costs what it changes. A route in `put` and `gone` is the first. */
  change(change: { readonly put: readonly RouteEntry[]; readonly gone: readonly RouteEntry[] }): void;
  /** Whether an entry can be prepared; why not is in the log. */
  usable(entry: RouteEntry): boolean;
  /**
   * Takes a request for a route that the caller has matched itself, as a mounted app does; nothing may have read its body.
   * @param pathAndQuery as received; default `request.url`, from which a mounting app has cut its own path
   */
  ingest(request: IncomingMessage, response: ServerResponse, entry: RouteEntry, pathAndQuery?: string): void;
  /** The routes, for events that come from inside the cluster. */
  readonly inside: InsideDoor;
  /** What was seen of the routes within the last minutes. */
  observations(): readonly RouteObservation[];
  /** For `/readyz`. */
  readiness(): Readiness;
  /** Not ready any more; requests are still taken, and their connections closed. Call it before {@link Gateway.close}, while traffic moves away. */
  drain(): void;
  /** Stops listening, finishes what is in flight, then cuts whatever is left after `graceMs` (default 10 s). */
  close(graceMs?: number): Promise<void>;
}

/**
 * Makes the gateway: a plain `http` server whose hot path stands in front of an app. Only what no route takes reaches the app.
 *
 * @throws RangeError when a trusted proxy is no address range
 */
export function createGateway(options: GatewayOptions): Gateway {
  let draining = false;
  const outgoing = options.fetch
    ? { fetch: options.fetch, close: async () => undefined }
    : guardedFetch(options.egress);
  const ingest = new Ingest(ingestOptions(options, outgoing.fetch, () => draining));
  const served = new ServedRoutes(
    (entry) => ingest.prepare(entry),
    (entry) => ingest.forget(entry),
  );
  const server = createServer(SERVER_OPTIONS);
  const seen = answerConnectionErrors(server);
  const front = frontOf(options, ingest);
  const take = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => {
    seen(response);
    // Whatever the answer is: the sender's next request goes to another process.
    if (draining) response.shouldKeepAlive = false;
    front(request, response, expectsContinue);
  };
  server.on("request", (request, response) => take(request, response, false));
  server.on("checkContinue", (request, response) => take(request, response, true));
  server.on("checkExpectation", (request, response) => {
    seen(response);
    sendRefusal(request, response, REFUSALS.ExpectationFailed);
  });
  return {
    server,
    update: (entries) => served.update(entries),
    change: (change) => served.change(change),
    inside: insideOf(ingest, served),
    usable: (entry) => ingest.prepare(entry) !== undefined,
    ingest: (request, response, entry, pathAndQuery = request.url ?? "") =>
      ingest.handle(request, response, entry, { pathAndQuery, expectsContinue: false }),
    observations: () => ingest.observations(),
    readiness: () => readinessOf(options, draining),
    drain: () => {
      draining = true;
    },
    close: async (graceMs = 10_000) => {
      draining = true;
      await closeServer(server, graceMs);
      await outgoing.close();
    },
  };
}

function ingestOptions(
  options: GatewayOptions,
  fetch: Fetch,
  draining: () => boolean,
): ConstructorParameters<typeof Ingest>[0] {
  const { trustedProxies = [], clock, logger } = options;
  return {
    inboxFor: options.inboxFor,
    health: options.health,
    clock,
    metrics: options.metrics,
    logger,
    fetch,
    material: options.material ?? fetchedMaterial(options, fetch),
    trusted: trustedProxies.length > 0 ? addressSet(trustedProxies) : undefined,
    ...(options.clientAddress && { clientAddress: options.clientAddress }),
    backlog: options.backlog ?? (() => 0),
    pods: options.pods ?? (() => 1),
    claimTimeoutMs: options.claimTimeoutMs ?? CLAIM_TIMEOUT_MS,
    idField: options.idField ?? "id",
    statuses: options.statuses ?? {},
    draining,
  };
}

function fetchedMaterial({ clock, logger, roots }: GatewayOptions, fetch: Fetch): MaterialSource {
  return new FetchedMaterial({ fetch, clock, logger, ...(roots && { roots }) });
}

/** What the API listener sees of the routes. */
function insideOf(ingest: Ingest, served: ServedRoutes): InsideDoor {
  return {
    named: (namespace, name) => {
      const entry = served.named(namespace, name);
      return entry && (ingest.prepare(entry) ?? "unusable");
    },
    cleaning: (namespace, policy) => cleaningRoutes(served.all(), namespace, policy),
    enter: (route) => ingest.enterInside(route),
    leave: (route) => ingest.leaveInside(route),
  };
}

type Front = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => void;

/** Matches a request and hands it to ingest, to the app, or answers that there is nothing. */
function frontOf({ table, app, metrics }: GatewayOptions, ingest: Ingest): Front {
  const notFound = metrics.ingestRequests.labels("", "", "not_found");
  const vanished = metrics.ingestRequests.labels("", "", "unavailable");
  const refuse = (request: IncomingMessage, response: ServerResponse, reason: GatewayReason) => {
    (reason === "NotFound" ? notFound : vanished).inc();
    sendRefusal(request, response, REFUSALS[reason]);
  };
  return (request, response, expectsContinue) => {
    const target = requestTarget(request);
    const found = target && table.lookup(target.host, target.path, request.method ?? "");
    if (found === "vanished") return refuse(request, response, "RouteVanished");
    if (target && found)
      return ingest.handle(request, response, found, { pathAndQuery: target.pathAndQuery, expectsContinue });
    if (!app) return refuse(request, response, "NotFound");
    if (expectsContinue) response.writeContinue();
    app(request, response);
  };
}

function readinessOf({ health, ready }: GatewayOptions, draining: boolean): Readiness {
  const { up, durable, clockOffsetMs } = health();
  const further = ready?.() ?? { ok: true, problems: [] };
  const problems = [
    ...(draining ? ["draining"] : []),
    ...(up ? [] : ["the store does not answer or takes no writes"]),
    ...(durable.ok ? [] : durable.problems.map((problem) => `the store is not durable: ${problem}`)),
    ...(Math.abs(clockOffsetMs) > MAX_CLOCK_OFFSET_MS ? [`clock is ${clockOffsetMs} ms off the store's`] : []),
    ...further.problems,
  ];
  return { ok: problems.length === 0 && durable.ok && further.ok, problems };
}
