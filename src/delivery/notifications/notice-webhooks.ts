import { idOfDestination } from "../../api/names.ts";
import type { Notice, TakenNotice } from "../../custody/notices.ts";
import type { HttpSender } from "../../egress/http-sender.ts";
import type { SendResult } from "../../egress/exchange.ts";
import type { Clock } from "../../lib/clock.ts";
import { groupBy } from "../../lib/group-by.ts";
import type { DestinationEntry } from "../../routes/entry.ts";
import type { WorkerConfiguration } from "../destinations.ts";
import { parseRetryAfter } from "../retry-after.ts";
import { createSigner } from "../signing.ts";
import { noticeEnvelope, noticeId, type NoticeScope } from "./notice-envelope.ts";
import type { NoticeChannel, NoticeOutcome, TellContext } from "./outcome.ts";

/** The whole exchange, ms. */
const TIMEOUT_MS = 15_000;
/** A destination that is not in a config that may be older than the notice is looked for again after this, ms. */
const UNKNOWN_MS = 10_000;
/** RFC 9110 §15.5.11. */
const GONE = 410;

export interface NoticeWebhooksOptions {
  readonly scope: NoticeScope;
  readonly sender: Pick<HttpSender, "send">;
  readonly configuration: () => WorkerConfiguration;
  readonly clock: Clock;
}

/**
 * Tells by a webhook to `notify.url`: signed as deliveries to the destination are, with the same `webhook-id` at every try. None of the destination's other
 * settings go with it, as the URL may be somebody else's. Notices about one destination are told in their order while they succeed.
 */
export class NoticeWebhooks implements NoticeChannel {
  readonly #options: NoticeWebhooksOptions;

  constructor(options: NoticeWebhooksOptions) {
    this.#options = options;
  }

  isWanted(): boolean {
    for (const { entry } of this.#options.configuration().values()) if (entry.notify?.url !== undefined) return true;
    return false;
  }

  async tell(taken: readonly TakenNotice[], context: TellContext): Promise<void> {
    const byDestination = groupBy(taken, ({ notice }) => notice.destination);
    await Promise.all([...byDestination.values()].map((some) => this.#inOrder(some, context)));
  }

  /** After one that failed, the later ones wait: `recovered` is not to come before `failing`. */
  async #inOrder(taken: readonly TakenNotice[], context: TellContext): Promise<void> {
    let againMs: number | undefined;
    for (const one of taken) {
      const outcome: NoticeOutcome =
        againMs === undefined ? await this.#tellOne(one.notice, context) : { result: "deferred", delayMs: againMs + 1 };
      againMs = await context.report(one, outcome);
    }
  }

  async #tellOne(notice: Notice, context: TellContext): Promise<NoticeOutcome> {
    const { configuration, clock } = this.#options;
    const known = configuration().get(notice.destination);
    if (known === undefined) {
      return configuration().isLive?.() === true ? { result: "unwanted" } : { result: "deferred", delayMs: UNKNOWN_MS };
    }
    const { url } = known.entry.notify ?? {};
    if (url === undefined) return { result: "unwanted" };
    if (context.signal.aborted || clock.monotonic() > context.beginBefore) return { result: "deferred", delayMs: 0 };
    return this.#send(url, notice, known.entry, context.signal);
  }

  async #send(
    text: string,
    notice: Notice,
    { id, name, signing }: DestinationEntry,
    signal: AbortSignal,
  ): Promise<NoticeOutcome> {
    const { scope, sender, clock } = this.#options;
    const url = URL.parse(text);
    if (url === null) return { result: "refused", code: "invalid_url" };
    const subject = { namespace: scope.namespace, name, id: idOfDestination(id) ?? name };
    const body = noticeEnvelope(scope, notice, subject);
    const messageId = noticeId(scope, notice);
    const headers = ["user-agent", "davit", "content-type", "application/json", "webhook-id", messageId];
    const isSigned = signing !== undefined && createSigner(signing)(headers, messageId, body, clock.now());
    if (!isSigned) return { result: "failed", code: "no_signing_key" };
    const { origin, pathname, search } = url;
    const request = { origin, path: pathname + search, method: "POST", headers, body } as const;
    return outcomeOf(await sender.send({ ...request, timeoutMs: TIMEOUT_MS, signal }), clock.now());
  }
}

/** @param now Unix ms, for a date in `Retry-After` */
function outcomeOf(result: SendResult, now: number): NoticeOutcome {
  if (result.type === "notSent") return { result: "deferred", delayMs: 0 };
  if (result.type === "error") return { result: "failed", code: result.code };
  const { status, retryAfter } = result;
  if (status >= 200 && status < 300) return { result: "told" };
  if (status === GONE) return { result: "refused", code: "status_410" };
  const atLeastMs = parseRetryAfter(retryAfter, now);
  return { result: "failed", code: `status_${status}`, ...(atLeastMs !== undefined && { atLeastMs }) };
}
