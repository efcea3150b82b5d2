import type { IncomingMessage, ServerResponse } from "node:http";
import type { Inbox } from "../../custody/port.ts";
import type { ResourceAttributes } from "../../kube/access-review.ts";
import type { Access, Caller } from "../../kube/access.ts";
import { BEARER_CHALLENGE } from "../../lib/bearer-token.ts";
import type { Clock } from "../../lib/clock.ts";
import { monotonicUlids } from "../../lib/ulid.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { declaredLength, readBody, type BodyResult } from "../../lib/request-body.ts";
import type { InsideDoor } from "../inside-door.ts";
import type { PreparedRoute } from "../prepared-route.ts";
import { REFUSALS } from "../refusals.ts";
import { send, sendRefusal } from "../respond.ts";
import { authorise, refuse } from "./authorise.ts";
import { ByteBudget } from "./byte-budget.ts";
import { claimAll } from "./claim-all.ts";
import { MAX_EVENTS, readEnvelopes } from "./envelope-list.ts";
import { publishedEvent, requestHash } from "./published-event.ts";
import { Refused } from "./refused.ts";
import { answerOf, outcomeOf, refusalOf, type ItemResult } from "./results.ts";

/** Largest request, bytes. */
const MAX_REQUEST_BYTES = 8 * 1_048_576;
/** What all requests of a process hold at a time, bytes. */
const MAX_BYTES_IN_FLIGHT = 8 * MAX_REQUEST_BYTES;
const MAX_KEY = 255;
const PLAIN = /^[\x20-\x7e]+$/;

/** What publishing needs of its surroundings. */
export interface PublishOptions {
  readonly door: InsideDoor;
  readonly access: Access;
  readonly inboxFor: (namespace: string) => Inbox;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** ms after which unanswered claims count as not stored. */
  readonly claimTimeoutMs: number;
  /** Whether the routes are known: until then one that is not found may exist. */
  readonly ready: () => boolean;
}

/** Which route a request names. */
export interface RouteName {
  readonly namespace: string;
  readonly route: string;
}

/** A request for a route, on its way. */
interface Publishing extends RouteName {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedAt: number;
  producer?: Caller;
}

/** `POST /v1/namespaces/{namespace}/routes/{route}/events`: events of producers inside the cluster. */
export class Publish {
  readonly #options: PublishOptions;
  readonly #nextId = monotonicUlids();
  readonly #budget = new ByteBudget(MAX_BYTES_IN_FLIGHT);

  constructor(options: PublishOptions) {
    this.#options = options;
  }

  /** Answers a request; its body must not have been read. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, name: RouteName): Promise<void> {
    const publishing: Publishing = { ...name, request, response, startedAt: this.#options.clock.monotonic() };
    try {
      await this.#run(publishing);
    } catch (error) {
      this.#fail(publishing, error);
    }
  }

  async #run(publishing: Publishing): Promise<void> {
    const key = idempotencyKey(publishing.request);
    const route = await this.#authorised(publishing);
    const turned = this.#options.door.enter(route);
    if (turned) throw new Refused(REFUSALS[turned.reason], { retryAfter: turned.retryAfter });
    try {
      await this.#take(publishing, route, key);
    } finally {
      this.#options.door.leave(route);
    }
  }

  async #authorised(publishing: Publishing): Promise<PreparedRoute> {
    const { access, door, ready } = this.#options;
    const { request, namespace, route: name } = publishing;
    await authorise(access, request, { right: publishingInto(namespace, name), denied: "NotAllowed" }, (producer) => {
      publishing.producer = producer;
    });
    const route = door.named(namespace, name);
    if (route === "unusable") throw new Refused(REFUSALS.RouteUnusable);
    if (route === undefined) throw refuse(ready() ? "NoSuchRoute" : "NotReady");
    return route;
  }

  async #take(publishing: Publishing, route: PreparedRoute, key: string | undefined): Promise<void> {
    const { request, response } = publishing;
    const limit = Math.min(route.entry.limits.maxBodyBytes * MAX_EVENTS, MAX_REQUEST_BYTES);
    const declared = declaredLength(request);
    if (declared !== undefined && declared > limit) throw refuse("RequestTooLarge");
    const giveBack = this.#budget.take(declared ?? limit);
    if (giveBack === undefined) throw refuse("TooManyBytesInFlight");
    try {
      if (request.headers.expect !== undefined) response.writeContinue();
      const body = await bodyOf(request, limit);
      if (body === "tooLarge") throw refuse("RequestTooLarge");
      if (body === "aborted") route.meters.requests.aborted?.inc();
      else await this.#publish(publishing, route, { body, key });
    } finally {
      giveBack();
    }
  }

  async #publish(
    publishing: Publishing,
    route: PreparedRoute,
    { body, key }: { readonly body: Buffer; readonly key: string | undefined },
  ): Promise<void> {
    const elements = readEnvelopes(body);
    if (typeof elements === "string") throw refuse(elements);
    const { clock, inboxFor, claimTimeoutMs } = this.#options;
    const now = clock.now();
    const publication = { route, key, requestHash: requestHash(elements), nextId: () => this.#nextId(now) };
    const items = elements.map((element, index) => publishedEvent(publication, element, index));
    const results = await claimAll(items, inboxFor(publishing.namespace), claimTimeoutMs);
    this.#answer(publishing, route, results);
  }

  #answer(publishing: Publishing, route: PreparedRoute, results: readonly ItemResult[]): void {
    const refusal = refusalOf(results);
    const answer = answerOf(results, refusal);
    const body = Buffer.from(JSON.stringify(answer));
    send(
      publishing.response,
      refusal?.status ?? 200,
      {
        "content-type": "application/json",
        "content-length": body.length,
        ...(refusal?.retryAfter !== undefined && { "retry-after": String(refusal.retryAfter) }),
      },
      body,
    );
    count(route, results);
    route.meters.duration.observe((this.#options.clock.monotonic() - publishing.startedAt) / 1_000);
    const { accepted, duplicates, errors } = answer;
    const { namespace, route: name, producer } = publishing;
    const line = { namespace, route: name, producer: producer?.name, accepted, duplicates, errors };
    this.#options.logger.info(line, "events published");
  }

  #fail({ request, response, namespace, route: name, producer }: Publishing, error: unknown): void {
    const { metrics, logger, door } = this.#options;
    const refused = error instanceof Refused ? error : new Refused(REFUSALS.Unexpected);
    const { refusal, retryAfter, detail } = refused;
    const headers = refusal.status === 401 ? { "www-authenticate": BEARER_CHALLENGE } : {};
    sendRefusal(request, response, refusal, { retryAfter, headers });
    // Names that anybody can invent are no labels.
    const served = producer && door.named(namespace, name);
    if (served && served !== "unusable") served.meters.requests[refusal.outcome]?.inc();
    else metrics.ingestRequests.labels("", "", refusal.outcome).inc();
    const line = { namespace, route: name, producer: producer?.name, status: refusal.status, reason: refusal.reason };
    if (error instanceof Refused)
      logger.info(line, `publishing refused with ${refusal.status}${detail ? `: ${detail}` : ""}`);
    else logger.error({ ...line, err: error }, "publishing failed");
  }
}

/** @throws Refused */
function idempotencyKey({ headersDistinct }: IncomingMessage): string | undefined {
  const values = headersDistinct["idempotency-key"];
  if (values === undefined) return undefined;
  const [key = "", ...others] = values;
  if (others.length > 0 || key.length > MAX_KEY || !PLAIN.test(key)) throw refuse("IdempotencyKeyMalformed");
  return key;
}

/** What a producer must have the right to. */
export function publishingInto(namespace: string, name: string): ResourceAttributes {
  return { verb: "create", group: "davit.dev", resource: "webhookroutes", subresource: "events", namespace, name };
}

function bodyOf(request: IncomingMessage, limit: number): Promise<BodyResult> {
  // It went while we asked for its rights, and will not say so again.
  if (request.destroyed) return Promise.resolve("aborted");
  return new Promise((resolve) => {
    readBody(request, limit, resolve);
  });
}

function count({ meters }: PreparedRoute, results: readonly ItemResult[]): void {
  for (const result of results) {
    meters.requests[outcomeOf(result)]?.inc();
    if (result.status === "accepted") meters.accepted.inc();
    if (result.status === "duplicate") meters.duplicates.inc();
    if (result.status === "duplicate" && result.revived) meters.replayed.inc();
  }
}
