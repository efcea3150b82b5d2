import type { TakenNotice } from "../../custody/notices.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import { groupBy } from "../../lib/group-by.ts";
import { shortHash } from "../../lib/hash.ts";
import { MailError, type Mail, type Mailer } from "./mail.ts";
import { noticeId, type NoticeScope } from "./notice-envelope.ts";
import { enableCommand, noticeLine, noticeText, noticeTitle, type NoticeSubject } from "./notice-text.ts";
import type { NoticeChannel, NoticeOutcome, TellContext } from "./outcome.ts";

/** An address gets at most one mail in this time, ms; what comes meanwhile is told together in the next. */
const APART_MS = 60_000;
/** Notices that a mail names one by one. */
const LISTED = 50;
/** Mails that are handed over at a time. */
const AT_ONCE = 4;
/** Addresses whose last mail is remembered. */
const MOST_ADDRESSES = 10_000;

/** Who is to be told of a destination, and what it is called. */
export interface MailSubject extends NoticeSubject {
  /** `notify.email`. */
  readonly email?: string | undefined;
}

export interface NoticeMailsOptions {
  readonly scope: NoticeScope;
  readonly mailer: Mailer;
  readonly clock: Clock;
  /** `undefined`: there is no such destination. */
  readonly find: (destination: string) => MailSubject | undefined;
  readonly isWanted: () => boolean;
}

interface Told {
  readonly one: TakenNotice;
  readonly subject: NoticeSubject;
  readonly address: string;
}

/** Tells by mail to `notify.email`: at most one mail a minute to an address of a namespace, with all that there is to tell. */
export class NoticeMails implements NoticeChannel {
  readonly #options: NoticeMailsOptions;
  /** Monotonic ms before which an address gets no mail. */
  readonly #notBefore = new BoundedMap<string, number>(MOST_ADDRESSES);

  constructor(options: NoticeMailsOptions) {
    this.#options = options;
  }

  isWanted(): boolean {
    return this.#options.isWanted();
  }

  async tell(taken: readonly TakenNotice[], context: TellContext): Promise<void> {
    const told: Told[] = [];
    const unwanted: TakenNotice[] = [];
    for (const one of taken) {
      const subject = this.#options.find(one.notice.destination);
      if (subject?.email === undefined) unwanted.push(one);
      else told.push({ one, subject, address: subject.email });
    }
    await Promise.all(unwanted.map((one) => context.report(one, { result: "unwanted" })));
    const waiting = [...groupBy(told, ({ address }) => address)];
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await this.#mail(...next, context);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async #mail(address: string, told: readonly Told[], context: TellContext): Promise<void> {
    const outcome = await this.#outcome(address, told, context);
    await Promise.all(told.map(({ one }) => context.report(one, outcome)));
  }

  async #outcome(address: string, told: readonly Told[], context: TellContext): Promise<NoticeOutcome> {
    const { clock, mailer } = this.#options;
    const now = clock.monotonic();
    if (context.signal.aborted || now > context.beginBefore) return { result: "deferred", delayMs: 0 };
    const waitMs = (this.#notBefore.get(address) ?? now) - now;
    if (waitMs > 0) return { result: "deferred", delayMs: waitMs };
    try {
      await mailer.send(this.#mailOf(address, told));
    } catch (error) {
      const code = error instanceof MailError ? error.code : "unknown";
      return { result: code === "invalid_address" ? "refused" : "failed", code };
    }
    this.#notBefore.set(address, clock.monotonic() + APART_MS);
    return { result: "told" };
  }

  #mailOf(to: string, told: readonly Told[]): Mail {
    const { scope } = this.#options;
    const [first] = told;
    if (first === undefined) throw new RangeError("a mail without a notice");
    if (told.length === 1) {
      const { notice } = first.one;
      const subject = `[davit] ${noticeTitle(notice, first.subject)}`;
      return { to, subject, text: noticeText(notice, first.subject), messageId: noticeId(scope, notice) };
    }
    const ids = told.map(({ one }) => one.notice.id);
    const subject = `[davit] ${told.length} notices about destinations in ${scope.namespace}`;
    return {
      to,
      subject,
      text: digest(told),
      messageId: `notices-${shortHash(scope.instance, scope.namespace, ...ids)}`,
    };
  }
}

/** What happened to several destinations, in its order. */
function digest(told: readonly Told[]): string {
  const listed = told.slice(0, LISTED);
  const lines = listed.map(
    ({ one: { notice }, subject }) => `- ${new Date(notice.at).toISOString()} ${noticeLine(notice, subject)}`,
  );
  const commands = listed
    .filter(({ one }) => one.notice.kind === "Disabled")
    .map(({ subject }) => `  ${enableCommand(subject)}`);
  if (told.length > LISTED) lines.push(`- and ${told.length - LISTED} more: davit destinations list shows all`);
  if (commands.length > 0) lines.push("", "To enable them once they are right again:", ...new Set(commands));
  return `${lines.join("\n")}\n`;
}
