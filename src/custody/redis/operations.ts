import {
  type Acted,
  type CopyFilter,
  type Count,
  type DeadLetterEntry,
  type DeadLetterFilter,
  EventUnreadable,
  type Operations,
  type Page,
  type Replay,
  type ReplayRequest,
  type Selection,
  type SequencedEvent,
  type SequencePage,
  type SequenceQuery,
} from "../operations.ts";
import { CustodyError, type EventView } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { countInSteps } from "./counting.ts";
import { SCRIPTS_OF_A_WALK, walkCopies } from "./cancels.ts";
import { ask } from "./errors.ts";
import { eventView, failureContext } from "./ledger.ts";
import { LogWalker } from "./log-walker.ts";
import { parseMeta, RecordTooNew, stateLetters } from "./record.ts";
import { RedisReplays } from "./replays.ts";
import { sequencePage } from "./sequence-pages.ts";
import { readWalkedDead } from "./walks.ts";

/** Rows or events that one script looks at: some milliseconds of Redis. */
const BUDGET = 500;
/** Rows or events that one script changes or looks at while it does. */
const ACT_PAGE = 200;
/** Scripts of one call. */
const PAGES = 25;

const EMPTY = Buffer.alloc(0);

/** The operations of a namespace on Redis. */
export class RedisOperations implements Operations {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #replays: RedisReplays;
  readonly #walker: LogWalker;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#replays = new RedisReplays(redis, tag);
    this.#walker = new LogWalker(redis, this.#prefix);
  }

  async event(
    id: string,
    { bodies = false, route }: NonNullable<Parameters<Operations["event"]>[1]> = {},
  ): Promise<SequencedEvent | undefined> {
    try {
      return await this.#sequenced(id, bodies);
    } catch (error) {
      if (!(error instanceof RecordTooNew)) throw error;
      const isThere = route === undefined || (await ask(() => this.#redis.zscore(`${this.#prefix}log:${route}`, id)));
      if (isThere === null) return undefined;
      throw new EventUnreadable();
    }
  }

  async events(query: Parameters<Operations["events"]>[0]): Promise<Page<EventView>> {
    const { route, state, limit, cursor: position = "" } = query;
    const states = state && stateLetters(state);
    const page = { route, filter: query, states, direction: "desc", position, budget: BUDGET, limit } as const;
    const walked = await this.#walker.walk("list", page);
    const items = await Promise.all(walked.found.map(({ id }) => this.#view(id)));
    return {
      items: items.filter((item) => item !== undefined),
      ...(walked.more && { next: walked.position }),
    };
  }

  eventsAfter(query: SequenceQuery): Promise<SequencePage> {
    return sequencePage(this.#walker, (id, bodies) => this.#sequenced(id, bodies), query);
  }

  async deadLetters(query: Parameters<Operations["deadLetters"]>[0]): Promise<Page<DeadLetterEntry>> {
    const { limit, cursor, ...filter } = query;
    const walked = await this.#walkDead("list", filter, { position: positionOf(cursor), budget: BUDGET, limit });
    const items = await Promise.all(walked.found.map(({ row, diedAt }) => this.#deadLetter(row, diedAt)));
    return {
      items: items.filter((item) => item !== undefined),
      ...(walked.score !== "" && { next: `${walked.to}:${walked.score}:${walked.member}` }),
    };
  }

  async countDeadLetters(filter: DeadLetterFilter): Promise<Count> {
    const { reason, eventType, from = 0, to = "+inf" } = filter;
    if (reason === undefined && eventType === undefined && saysAll(filter)) {
      const count = await ask(() => this.#redis.zcount(`${this.#prefix}${indexOf(filter)}`, from, to));
      return { count, atLeast: false };
    }
    let [position, frozen] = [START, filter];
    return countInSteps(async () => {
      const walked = await this.#walkDead("count", frozen, { position, budget: BUDGET, limit: BUDGET });
      position = walked;
      frozen = { ...filter, to: walked.to };
      return { found: walked.matched, scripts: 1, isEnd: walked.score === "" };
    });
  }

  startReplay(request: ReplayRequest): ReturnType<Operations["startReplay"]> {
    return this.#replays.start(request, { index: indexOf(request.filter), count: (f) => this.countDeadLetters(f) });
  }

  replay(id: string): Promise<Replay | undefined> {
    return this.#replays.read(id);
  }

  replays(owner?: string): Promise<readonly Replay[]> {
    return this.#replays.list(owner);
  }

  steerReplay(id: string, to: Parameters<Operations["steerReplay"]>[1]): Promise<Replay | undefined> {
    return this.#replays.steer(id, to);
  }

  discard(selection: Selection<DeadLetterFilter>): Promise<Acted> {
    return this.#actOnDead("discard", selection);
  }

  restore(selection: Selection<DeadLetterFilter>): Promise<Acted> {
    return this.#actOnDead("restore", selection);
  }

  countCancellable(filter: CopyFilter): Promise<Count> {
    let cursor: string | undefined;
    return countInSteps(async () => {
      const acted: Acted = await walkCopies(this.#walker, "count", filter, cursor);
      cursor = acted.next;
      return { found: acted.copies, scripts: SCRIPTS_OF_A_WALK, isEnd: cursor === undefined };
    });
  }

  cancel(selection: Selection<CopyFilter>): Promise<Acted> {
    if ("eventId" in selection) return this.#actOn("cancel", selection);
    return walkCopies(this.#walker, "cancel", selection.filter, selection.cursor);
  }

  async #sequenced(id: string, bodies: boolean): Promise<SequencedEvent | undefined> {
    if (!bodies) return this.#withoutBody(id);
    const fields = await ask(() => this.#redis.hgetallBuffer(`${this.#prefix}e:${id}`));
    if (fields["m"] === undefined) return undefined;
    const view = eventView(id, fields);
    const { headers } = parseMeta(fields["m"].toString());
    return { ...view, headers, ...(view.bodyBytes > 0 && fields["b"] !== undefined && { body: fields["b"] }) };
  }

  async #withoutBody(id: string): Promise<SequencedEvent | undefined> {
    const [bodyBytes, ...pairs] = await ask(() => this.#redis.readRecordBuffer(this.#prefix, id));
    const fields: Record<string, Buffer> = {};
    for (let i = 0; i + 1 < pairs.length; i += 2) fields[String(pairs[i])] = pairs[i + 1] ?? EMPTY;
    return fields["m"] === undefined ? undefined : { ...eventView(id, fields), bodyBytes };
  }

  async #actOnDead(action: "discard" | "restore", selection: Selection<DeadLetterFilter>): Promise<Acted> {
    if ("eventId" in selection) return this.#actOn(action, selection);
    const { filter, cursor } = selection;
    let [copies, position, to] = [0, positionOf(cursor), timeOf(cursor) ?? filter.to];
    for (let page = 0; page < PAGES; page++) {
      const frozen = to === undefined ? filter : { ...filter, to };
      const walked = await this.#walkDead(action, frozen, { position, budget: ACT_PAGE, limit: ACT_PAGE });
      copies += walked.matched;
      to = walked.to;
      position = walked;
      if (walked.score === "") return { copies, active: 0 };
    }
    return { copies, active: 0, next: `${to ?? 0}:${position.score}:${position.member}` };
  }

  async #actOn(
    action: "discard" | "restore" | "cancel",
    { eventId, destination = "" }: { readonly eventId: string; readonly destination?: string },
  ): Promise<Acted> {
    const [copies, active] = await ask(() => this.#redis.actOn(this.#prefix, action, eventId, destination));
    return { copies, active };
  }

  async #walkDead(
    action: string,
    filter: DeadLetterFilter,
    { position, budget, limit }: { position: Position; budget: number; limit: number },
  ) {
    const index = action === "restore" ? "bin" : indexOf(filter);
    const { score, member } = position;
    const args = [action, index, JSON.stringify(filter), score, member, budget, limit];
    return readWalkedDead(await ask(() => this.#redis.walkDead(this.#prefix, ...args)));
  }

  /** An event in a list: one that somebody overwrote must not hide the others. */
  async #view(id: string): Promise<EventView | undefined> {
    try {
      return await this.#sequenced(id, false);
    } catch (error) {
      if (error instanceof CustodyError && error.code !== "Script") throw error;
      return undefined;
    }
  }

  async #deadLetter(row: string, diedAt: number): Promise<DeadLetterEntry | undefined> {
    const bar = row.indexOf("|");
    const [eventId, destination] = [row.slice(0, bar), row.slice(bar + 1)];
    const view = await this.#view(eventId);
    const attempts = view?.copies.find((copy) => copy.destination === destination)?.attempts;
    if (view === undefined || attempts === undefined) return undefined;
    const { route, receivedAt, sequence, eventType } = view;
    return {
      eventId,
      destination,
      route,
      diedAt,
      receivedAt,
      sequence,
      reason: attempts.at(-1)?.reason ?? "unknown",
      ...(eventType !== undefined && { eventType }),
      failureContext: failureContext(attempts),
    };
  }
}

interface Position {
  readonly score: string;
  readonly member: string;
}

const START: Position = { score: "", member: "" };

/** A cursor of dead letters is `<end of the range>:<score>:<member>`. */
function positionOf(cursor: string | undefined): Position {
  if (cursor === undefined) return START;
  const [, score = "", ...member] = cursor.split(":");
  return { score, member: member.join(":") };
}

function timeOf(cursor: string | undefined): number | undefined {
  return cursor === undefined ? undefined : Number(cursor.split(":", 1)[0]);
}

/** The smallest index that has all that fit. */
function indexOf({ route, destination }: DeadLetterFilter): string {
  const owner = destination ?? route;
  return owner === undefined ? "dead" : `dead:${owner}`;
}

/** Whether the index says it all: no record need be looked at. */
function saysAll({ route, destination }: DeadLetterFilter): boolean {
  return route === undefined || destination === undefined || destination.startsWith(`${route}/`);
}
