import { hash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { CopyState, EventView, Ledger } from "../../custody/port.ts";
import { fieldOf } from "../../lib/record.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { CommandError } from "../command.ts";
import { type Answer, post } from "../send/post.ts";
import { type SignedMessage, senderOf, signMessage } from "../send/request.ts";
import { delaysOf, isUsable, MAX_RETRIES_MS } from "./demonstration-routes.ts";
import {
  type Counts,
  type DemonstrationReport,
  describe,
  everyAttempts,
  isAll,
  nameOf,
  parse,
  type StepReport,
  told,
} from "./demonstration-report.ts";
import { type Receiver, TAG_FIELD } from "./receiver.ts";

export interface DemonstrationOptions {
  readonly entries: readonly RouteEntry[];
  /** Base URL of the gateway. */
  readonly gateway: string;
  readonly receiver: Receiver;
  readonly ledger: (namespace: string) => Ledger;
  /** Aborts it. */
  readonly signal: AbortSignal;
}

/** Added to what the schedules take. */
const PATIENCE_MS = 20_000;
const POLL_MS = 25;

/**
 * Sends signed events through the running chain over real HTTP and looks up in custody what became of each.
 * @throws CommandError when no route fits, or when interrupted
 */
export async function demonstrate(options: DemonstrationOptions): Promise<DemonstrationReport> {
  const [first, ...others] = options.entries.filter(isUsable);
  if (first === undefined) {
    throw new CommandError(
      "the demonstration needs a route with a signature, an id in dedupe.keyFrom, and at least 2 retries that end within a minute; examples/quickstart has some",
    );
  }
  const routes = [first, ...others];
  const at = (index: number) => routes[index % routes.length] ?? first;
  const run = new Run(options);
  await Promise.all([
    run.delivered(first, true),
    ...others.map((entry) => run.delivered(entry, false)),
    run.badSignature(at(1)),
    run.failsTwice(at(2)),
    run.keepsFailing(at(1)),
  ]);
  return run.report();
}

/** One demonstration: what was sent, seen, and found to differ. */
class Run {
  readonly #options: DemonstrationOptions;
  readonly #id = randomUUID().slice(0, 8);
  readonly #steps: StepReport[] = [];
  readonly #late: (() => void)[] = [];
  readonly #differences: string[] = [];
  readonly #counts: Counts = { delivered: 0, duplicates: 0, rejected: 0, retried: 0, deadLettered: 0, replayed: 0 };

  constructor(options: DemonstrationOptions) {
    this.#options = options;
  }

  report(): DemonstrationReport {
    for (const check of this.#late) check();
    return { steps: this.#steps, counts: this.#counts, differences: this.#differences };
  }

  /** An event that arrives at once; `twice`: the provider sends it again. */
  async delivered(entry: RouteEntry, twice: boolean): Promise<void> {
    const tag = this.#tag("delivered", entry);
    const slot = this.#reserve(twice ? 2 : 1);
    this.#options.receiver.script(tag, []);
    const message = this.#sign(entry, tag);
    const { id, shown } = await this.#accepted(entry, message);
    const event = await this.#final(entry, id, ["delivered"]);
    this.#expect(everyAttempts(event, 1), `${tag}: expected one attempt at each destination, got ${describe(event)}`);
    this.#note(slot, { event: "signed event", route: nameOf(entry), answer: shown, ...told(event), id });
    this.#counts.delivered += Number(isAll(event, "delivered"));
    if (twice) await this.#duplicate(entry, message, { id, slot: slot + 1 });
    // Looked at when all else has ended: a second request would have come by then.
    this.#late.push(() => {
      const count = this.#options.receiver.received(tag);
      this.#expect(
        count === entry.destinations.length,
        `${tag}: the receiver got ${count} requests for ${entry.destinations.length} destination(s)`,
      );
    });
  }

  async #duplicate(entry: RouteEntry, message: SignedMessage, first: { id: string; slot: number }): Promise<void> {
    const again = await this.#accepted(entry, message);
    this.#expect(again.id === first.id, `duplicate: answered with event ${again.id} instead of ${first.id}`);
    const event = await this.#final(entry, first.id, ["delivered"]);
    this.#expect(event?.duplicates === 1, `duplicate: the event counts ${event?.duplicates ?? 0} duplicates, not 1`);
    this.#counts.duplicates += event?.duplicates ?? 0;
    const outcome = "duplicate: nothing was sent";
    this.#note(first.slot, {
      event: "the same again",
      route: nameOf(entry),
      answer: again.shown,
      attempts: "-",
      outcome,
      id: first.id,
    });
  }

  /** A request whose signature is of another body. */
  async badSignature(entry: RouteEntry): Promise<void> {
    const tag = this.#tag("bad-signature", entry);
    const slot = this.#reserve(1);
    this.#options.receiver.script(tag, []);
    const message = this.#sign(entry, tag, true);
    const answer = await this.#post(entry, message);
    this.#expect(answer.status === 401, `${tag}: expected 401, got ${answer.status}`);
    const bodyHash = hash("sha256", message.body, "hex");
    const ledger = this.#options.ledger(entry.namespace);
    const traced = await this.#until(
      async () => (await ledger.rejections(entry.route)).find(({ bodySha256 }) => bodySha256 === bodyHash),
      PATIENCE_MS,
    );
    this.#expect(traced?.status === 401, `${tag}: the refusal left no trace`);
    this.#counts.rejected += traced ? 1 : 0;
    const reason = fieldOf(parse(answer.body), "error");
    this.#note(slot, {
      event: "bad signature",
      route: nameOf(entry),
      answer: `${answer.status} ${typeof reason === "string" ? reason : ""}`,
      attempts: "-",
      outcome: "refused: nothing was stored",
      id: "-",
    });
    this.#late.push(() =>
      this.#expect(this.#options.receiver.received(tag) === 0, `${tag}: it was delivered all the same`),
    );
  }

  /** A destination that is down for two attempts and says when to come again. */
  async failsTwice(entry: RouteEntry): Promise<void> {
    const tag = this.#tag("fails-twice", entry);
    const slot = this.#reserve(1);
    this.#options.receiver.script(tag, [{ status: 503, retryAfter: 1 }, { status: 500 }]);
    const { id, shown } = await this.#accepted(entry, this.#sign(entry, tag));
    const event = await this.#final(entry, id, ["delivered", "dead"]);
    this.#expect(
      isAll(event, "delivered") && everyAttempts(event, 3),
      `${tag}: expected delivery at the 3rd attempt, got ${describe(event)}`,
    );
    const hints = event?.copies.map(({ attempts: [attempt] }) => attempt) ?? [];
    this.#expect(
      hints.every((attempt) => (attempt?.delayMs ?? 0) >= 1_000),
      `${tag}: Retry-After 1 was not honoured (${hints.map((attempt) => attempt?.delayMs).join(", ")} ms)`,
    );
    this.#counts.delivered += Number(isAll(event, "delivered"));
    this.#counts.retried += Number(
      event?.copies.some(({ attempts }) => attempts.some(({ action }) => action === "retry")),
    );
    this.#note(slot, { event: "fails twice", route: nameOf(entry), answer: shown, ...told(event), id });
  }

  /** A destination that fails until the event is a dead letter; then it is mended and the event replayed. */
  async keepsFailing(entry: RouteEntry): Promise<void> {
    const tag = this.#tag("keeps-failing", entry);
    const slot = this.#reserve(2);
    const { receiver, ledger } = this.#options;
    receiver.script(tag, [], 500);
    const { id, shown } = await this.#accepted(entry, this.#sign(entry, tag));
    const dead = await this.#final(entry, id, ["dead", "delivered"]);
    const most = Math.max(...entry.destinations.map(({ retry }) => delaysOf(retry).length + 1));
    this.#expect(
      isAll(dead, "dead") && everyAttempts(dead, most),
      `${tag}: expected death after ${most} attempts, got ${describe(dead)}`,
    );
    this.#counts.deadLettered += Number(isAll(dead, "dead"));
    this.#note(slot, { event: "keeps failing", route: nameOf(entry), answer: shown, ...told(dead), id });
    receiver.heal(tag);
    const { replayed } = await ledger(entry.namespace).replay(id);
    this.#expect(replayed === entry.destinations.length, `${tag}: the replay took up ${replayed} copies`);
    const event = await this.#final(entry, id, ["delivered"]);
    this.#expect(
      everyAttempts(event, most + 1),
      `${tag}: expected one attempt after the replay, got ${describe(event)}`,
    );
    this.#counts.replayed += Number(replayed > 0 && isAll(event, "delivered"));
    this.#counts.delivered += Number(isAll(event, "delivered"));
    this.#note(slot + 1, { event: "  replayed", route: nameOf(entry), answer: "-", ...told(event, most), id });
  }

  /** Posts and wants to hear that it is in custody. */
  async #accepted(entry: RouteEntry, message: SignedMessage): Promise<{ id: string; shown: string }> {
    const answer = await this.#post(entry, message);
    const { status } = entry.response;
    this.#expect(
      answer.status === status,
      `${nameOf(entry)}: expected ${status}, got ${answer.status}: ${answer.body}`,
    );
    const id = answer.headers["davit-event-id"];
    this.#expect(typeof id === "string", `${nameOf(entry)}: the answer has no Davit-Event-Id`);
    const replayed = fieldOf(parse(answer.body), "replayed") === true;
    return { id: typeof id === "string" ? id : "-", shown: `${answer.status}${replayed ? " replayed" : ""}` };
  }

  #post(entry: RouteEntry, message: SignedMessage): Promise<Answer> {
    return post(this.#options.gateway + entry.path, { ...message, host: entry.host });
  }

  #sign(entry: RouteEntry, tag: string, badSignature = false): SignedMessage {
    return signMessage(senderOf(entry), entry.path, {
      id: `demo_${tag}`,
      idInBody: true,
      badSignature,
      now: Date.now(),
      fields: { [TAG_FIELD]: tag },
    });
  }

  /** Waits until every copy of an event is in one of these states; gives what there is when that takes too long. */
  async #final(entry: RouteEntry, id: string, states: readonly CopyState[]): Promise<EventView | undefined> {
    const ledger = this.#options.ledger(entry.namespace);
    let last: EventView | undefined;
    await this.#until(async () => {
      last = await ledger.event(id);
      return last?.copies.every(({ state }) => states.includes(state)) || undefined;
    }, MAX_RETRIES_MS + PATIENCE_MS);
    return last;
  }

  async #until<T>(look: () => Promise<T | undefined>, withinMs: number): Promise<T | undefined> {
    for (const end = performance.now() + withinMs; performance.now() < end; ) {
      if (this.#options.signal.aborted) throw new CommandError("interrupted");
      const found = await look();
      if (found !== undefined) return found;
      await sleep(POLL_MS);
    }
    return undefined;
  }

  /** Unique, so that a second run over the same data meets no duplicate of the first. */
  #tag(what: string, entry: RouteEntry): string {
    return `${what}_${entry.name}_${this.#id}`;
  }

  #reserve(lines: number): number {
    const slot = this.#steps.length;
    for (let line = 0; line < lines; line++) {
      this.#steps.push({ event: "", route: "", answer: "", attempts: "", outcome: "did not end", id: "" });
    }
    return slot;
  }

  #note(slot: number, step: StepReport): void {
    this.#steps[slot] = step;
  }

  #expect(holds: boolean, difference: string): void {
    if (!holds) this.#differences.push(difference);
  }
}
