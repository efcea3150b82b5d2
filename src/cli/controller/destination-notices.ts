import type { Config } from "../../config/schema.ts";
import type { RedisStore } from "../../custody/redis/store.ts";
import { smtpMailer, type Mailer } from "../../delivery/notifications/mail.ts";
import { NoticeMails, type MailSubject } from "../../delivery/notifications/notice-mails.ts";
import { notify, noticeRound, type NoticeRoundOptions } from "../../delivery/notifications/notifier.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Live } from "../../kube/objects.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { NoticeEvents } from "./notice-events.ts";

/** Notices of a round. Those of one address become one mail. */
const EVENTS_AT_ONCE = 100;
const MAILS_AT_ONCE = 1_000;
/** Every namespace is asked this often, ms. */
const INTERVAL_MS = 5_000;
/** Namespaces that are asked at a time. */
const NAMESPACES_AT_ONCE = 8;
const DEFAULT_PORTS = { StartTLS: 587, Implicit: 465, None: 25 } as const;

/** Whom notices may be about, as the caches of the controller have them. */
export interface NoticeTargets {
  /** Namespaces with WebhookDestinations. */
  namespaces(): Iterable<string>;
  /** The object that a destination is of. */
  find(namespace: string, destination: string): Live | undefined;
  /** What a WebhookDestination is called, and who is told by mail. */
  subject(namespace: string, destination: string): MailSubject | undefined;
  /** Whether any of the namespace is to be told of by mail. */
  wantsMail(namespace: string): boolean;
}

export interface DestinationNoticesOptions {
  readonly config: Config;
  readonly store: Pick<RedisStore, "notices">;
  readonly events: Pick<EventRecorder, "record">;
  readonly targets: NoticeTargets;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Default: that of `controller.smtp`. */
  readonly mailer?: Mailer;
}

/** What the leader tells of destinations: Events, and mails where an SMTP server is configured. */
export class DestinationNotices {
  readonly #options: DestinationNoticesOptions;
  readonly #mailer: Mailer | undefined;
  readonly #rounds = new Map<string, readonly NoticeRoundOptions[]>();

  constructor(options: DestinationNoticesOptions) {
    this.#options = options;
    const { smtp } = options.config.controller;
    this.#mailer = options.mailer ?? (smtp && smtpMailer({ ...smtp, port: smtp.port ?? DEFAULT_PORTS[smtp.tls] }));
  }

  /** Until the signal fires. */
  lead(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    return notify({ round: () => this.#round(signal), intervalMs: INTERVAL_MS, logger }, signal);
  }

  async #round(signal: AbortSignal): Promise<boolean> {
    const namespaces = new Set(this.#options.targets.namespaces());
    for (const namespace of this.#rounds.keys()) if (!namespaces.has(namespace)) this.#rounds.delete(namespace);
    const waiting = [...namespaces];
    let isMore = false;
    const ask = async () => {
      for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
        for (const round of this.#roundsOf(next)) isMore = (await noticeRound(round, signal)) || isMore;
      }
    };
    const asked = await Promise.allSettled(Array.from({ length: NAMESPACES_AT_ONCE }, ask));
    const failed = asked.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return isMore;
  }

  #roundsOf(namespace: string): readonly NoticeRoundOptions[] {
    const known = this.#rounds.get(namespace);
    if (known !== undefined) return known;
    const { config, store, events, targets, metrics, logger } = this.#options;
    const scope = { instance: config.instance, namespace };
    const common = { namespace, notices: store.notices(scope), metrics, logger };
    const find = (destination: string) => targets.find(namespace, destination);
    const channel = new NoticeEvents({ namespace, events, find });
    const rounds: NoticeRoundOptions[] = [{ ...common, reader: "events", channel, limit: EVENTS_AT_ONCE }];
    if (this.#mailer !== undefined) {
      const mails = new NoticeMails({
        scope,
        mailer: this.#mailer,
        clock: systemClock,
        find: (destination) => targets.subject(namespace, destination),
        isWanted: () => targets.wantsMail(namespace),
      });
      rounds.push({ ...common, reader: "email", channel: mails, limit: MAILS_AT_ONCE });
    }
    this.#rounds.set(namespace, rounds);
    return rounds;
  }
}
