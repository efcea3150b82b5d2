import type { Inbox } from "../custody/port.ts";
import type { Fetch } from "../egress/guarded-fetch.ts";
import type { Clock } from "../lib/clock.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import type { Logger } from "../observability/logger.ts";
import { answerHandshake, answerHeaders, isRefusal } from "../verification/handshakes/find.ts";
import type {
  Handshake,
  HandshakeAction,
  HandshakeAnswer,
  HandshakeContext,
} from "../verification/handshakes/handshake.ts";
import type { Refusal } from "../verification/refusal.ts";
import type { VerificationKey } from "../verification/types.ts";
import { Confirmations } from "./confirmations.ts";
import type { Endings, Exchange } from "./exchange.ts";
import { send } from "./respond.ts";

/** Most log lines a second: whoever asks whether somebody is there must not fill the log. */
const LINES_PER_SECOND = 5;

export interface HandshakeDeskOptions {
  readonly inboxFor: (namespace: string) => Inbox;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Address of the client of a request. */
  readonly client: (request: Exchange["request"]) => string;
  /** Answers carry `Connection: close`. */
  readonly draining: () => boolean;
  readonly endings: Endings;
}

/** Answers the requests that are no events: a provider asks whether somebody is there, or whether it is the right one. Nothing of them is enqueued. */
export class HandshakeDesk {
  readonly #options: HandshakeDeskOptions;
  readonly #lines: TokenBucket;
  readonly #confirmations: Confirmations;

  constructor(options: HandshakeDeskOptions) {
    this.#options = options;
    this.#confirmations = new Confirmations(options);
    this.#lines = new TokenBucket(LINES_PER_SECOND, LINES_PER_SECOND / 1_000, options.clock.monotonic());
  }

  /**
   * Answers a handshake; what must be done before its answer is done first.
   *
   * @param matchedKeyId id of the key that verified it, for one that is signed
   */
  take(exchange: Exchange, handshake: Handshake, matchedKeyId?: string): void {
    const answer = answerHandshake(handshake, this.#contextOf(exchange), matchedKeyId);
    if (isRefusal(answer)) return this.#options.endings.refuse(exchange, answer.reason, answer.detail);
    if (answer.action) void this.#actThenAnswer(exchange, answer, answer.action);
    else this.#answer(exchange, answer);
  }

  /** Whether the route takes no such handshake now. */
  isClosed(exchange: Exchange, handshake: Handshake): boolean {
    const answer = answerHandshake(handshake, this.#contextOf(exchange));
    return isRefusal(answer) && answer.reason === "HandshakeClosed";
  }

  #contextOf({ route, view }: Exchange): HandshakeContext {
    const now = this.#options.clock.now();
    return {
      request: view,
      signing: usableAt(route.keys, now),
      verifyTokens: usableAt(route.verifyTokens, now),
      hasVerifyTokens: route.verifyTokens.length > 0,
      parameters: route.entry.parameters,
    };
  }

  async #actThenAnswer(exchange: Exchange, answer: HandshakeAnswer, action: HandshakeAction): Promise<void> {
    const { endings } = this.#options;
    try {
      const failure = await this.#act(exchange, action);
      if (failure) endings.refuse(exchange, failure.reason, failure.detail);
      else if (!exchange.done) this.#answer(exchange, answer);
    } catch (error) {
      endings.failed(exchange, error);
    }
  }

  async #act({ route, request }: Exchange, action: HandshakeAction): Promise<Refusal | undefined> {
    if (action.type === "confirm") return this.#confirmations.confirm(action.url, action.id);
    const { namespace, route: key } = route.entry;
    const { kind, value } = action;
    const at = this.#options.clock.now();
    await this.#options
      .inboxFor(namespace)
      .keep({ route: key, at, client: this.#options.client(request), kind, value });
    return undefined;
  }

  #answer(exchange: Exchange, answer: HandshakeAnswer): void {
    const { request, response } = exchange;
    const headers = { ...answerHeaders(answer), ...(this.#options.draining() && { connection: "close" }) };
    send(response, answer.status, headers, request.method === "HEAD" ? "" : answer.body);
    this.#tell(exchange, answer);
    this.#options.endings.finish(exchange, "handshake");
  }

  #tell({ route, handshake }: Exchange, { notice }: HandshakeAnswer): void {
    const { clock, logger } = this.#options;
    if (this.#lines.take(clock.monotonic()) > 0) return;
    const { namespace, name } = route.entry;
    const fields = { namespace, route: name, handshake: handshake?.name };
    if (notice === undefined) logger.info(fields, "handshake answered");
    else logger.warn(fields, notice);
  }
}

/** Keys that may be used now; blank ones are none. */
export function usableAt(keys: readonly VerificationKey[], now: number): readonly VerificationKey[] {
  return keys.filter(({ secret, notAfter }) => !secret.isBlank && (notAfter === undefined || now <= notAfter));
}
