import { setTimeout as delayed } from "node:timers/promises";
import { type Job, WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { Outbox, Ticket } from "../port.ts";
import { type CustodyClient, connectForTickets, type RedisUrl } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import type { Janitor, MissingTicket } from "./janitor.ts";
import { ticketQueue } from "./keys.ts";
import { jobOf, jobsOf, MOST_IN_A_JOB, type TicketData, type TicketJob, ticketsOf } from "./ticket-jobs.ts";
import { TicketQueues } from "./ticket-queues.ts";

/** Tickets a process holds at once. A ticket is a destination, not a request: this is how many destinations a process drains side by side. */
const TICKET_CONCURRENCY = 1_000;
/** While BullMQ answers OOM, destinations with due work are looked up this often. */
const DIRECT_POLL_MS = 250;
/** … and BullMQ is tried again this often. */
const DIRECT_RETRY_MS = 1_000;
/**
 * A job of several tickets ends with the last of them, at the latest after this, and the others are held on without it: one destination that hangs must not
 * keep the job's place. It is long enough for every process to have read the same hint, so that none writes the job again.
 */
const SHARED_JOB_MS = 1_000;
/** A job that finds no room is given back after this: another process may have some, and nobody else writes its tickets while BullMQ knows it. */
const ROOM_WAIT_MS = 500;
/** A process that had no room looks so much later whether it has: what ended by then makes one resumption. */
const RESUME_AFTER_MS = 50;

type Handlers = Parameters<Outbox["start"]>[0];

export interface TicketSourceOptions {
  readonly url: RedisUrl;
  readonly tag: string;
  readonly redis: CustodyClient;
  readonly janitor: Janitor;
  /** Key of the route whose own workers these are; else they are the namespace's shared ones. */
  readonly dedicatedRoute?: string | undefined;
  /** See `OutboxOptions`. */
  readonly owns?: ((destination: string) => boolean) | undefined;
  readonly concurrency?: number;
}

/**
 * Tickets through BullMQ: it spreads destinations over processes, wakes them at a time, renews locks and finds stalled ones. Nothing rests on it: a
 * ticket that is lost is written anew by the janitor, and while BullMQ answers OOM destinations are drained without tickets.
 */
export class TicketSource {
  readonly #options: TicketSourceOptions;
  readonly #ending = new AbortController();
  readonly #queueName: string;
  #queues: TicketQueues | undefined;
  #worker: Worker<TicketData, void> | undefined;
  readonly #clients: Redis[] = [];
  #handlers: Handlers | undefined;
  /** Tickets held. */
  readonly #running = new Set<Promise<void>>();
  /** Jobs of BullMQ at hand. */
  #jobs = 0;
  /** Jobs that wait until less is held. */
  readonly #waiting = new Set<() => void>();
  #direct: NodeJS.Timeout | undefined;
  #resuming: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(options: TicketSourceOptions) {
    this.#options = options;
    this.#queueName = ticketQueue(options.dedicatedRoute);
  }

  /** Writes tickets that are ready now, see {@link jobsOf}. What BullMQ knows already changes nothing. */
  async add(tickets: readonly Ticket[], queueName = this.#queueName): Promise<void> {
    await Promise.all(jobsOf(tickets).map((job) => this.#write(job, 0, queueName)));
  }

  /** Writes a ticket for a time (Unix ms). */
  async wake(destination: string, at: number, generation: number): Promise<void> {
    await this.#write(jobOf([{ destination, generation, slot: 0 }], at), Math.max(0, at - Date.now()));
  }

  /** Asks for further tickets of a destination whose lane has grown; they take the generation of the one that is held. */
  async widen(destination: string, slots: number): Promise<void> {
    const generation = Number((await this.#options.redis.hget(`${this.#options.tag}:gate:${destination}`, "g")) ?? 0);
    for (let slot = 1; slot < slots; slot++) await this.add([{ destination, slot, generation }]);
  }

  /** A ticket this process cannot serve goes to those who do, unless that is its own queue: there it would come back at once. */
  async handOver(ticket: Ticket, servedBy: string | undefined): Promise<void> {
    const queueName = ticketQueue(servedBy);
    if (queueName !== this.#queueName) await this.add([ticket], queueName);
  }

  start(handlers: Handlers): Promise<() => Promise<void>> {
    const { url, tag, janitor } = this.#options;
    this.#handlers = handlers;
    const shared = connectForTickets(url, (copy) => this.#clients.push(copy));
    this.#clients.push(shared);
    this.#queues = new TicketQueues(shared, tag);
    this.#worker = new Worker<TicketData, void>(this.#queueName, (...job) => this.#onJob(...job), {
      connection: shared,
      prefix: tag,
      concurrency: Math.ceil(this.#most / MOST_IN_A_JOB),
      lockDuration: 15_000,
      stalledInterval: 5_000,
      maxStalledCount: 1_000_000,
      runRetryDelay: 500,
      drainDelay: 1,
    });
    this.#worker.on("error", (error) => this.#onWorkerError(error));
    this.#listen();
    janitor.start((missing) => this.#onJanitor(missing));
    return Promise.resolve(() => this.#stop());
  }

  async #write(job: TicketJob, delay: number, queueName = this.#queueName): Promise<void> {
    if (this.#queues === undefined || this.#stopping) return;
    try {
      await this.#queues.add(queueName, job, delay);
    } catch (error) {
      // The janitor writes it anew, or drains without it: a ticket is never worth failing what asked for it.
      this.#onWorkerError(error);
    }
  }

  async #onJob(job: Job<TicketData>, token: string | undefined, signal: AbortSignal | undefined): Promise<void> {
    const tickets = ticketsOf(job.data);
    this.#jobs += 1;
    this.#steer();
    try {
      if (await this.#hasRoom()) return await this.#holdAll(tickets, signal);
      await job.moveToWait(token);
    } finally {
      this.#jobs -= 1;
      this.#steer();
    }
    throw new WaitingError();
  }

  async #holdAll(tickets: readonly Ticket[], signal: AbortSignal | undefined): Promise<void> {
    const ending = this.#ending.signal;
    const either = signal ? AbortSignal.any([signal, ending]) : ending;
    const all = Promise.all(tickets.map((ticket) => this.#run(ticket, either)));
    this.#steer();
    await (tickets.length === 1 ? all : Promise.race([all, delayed(SHARED_JOB_MS, undefined, { ref: false })]));
  }

  async #run(ticket: Ticket, signal: AbortSignal): Promise<void> {
    if (this.#handlers === undefined || this.#stopping) return;
    const run = this.#handlers.onTicket(ticket, signal);
    this.#running.add(run);
    try {
      await run;
    } finally {
      this.#running.delete(run);
      const [first] = this.#waiting;
      first?.();
      this.#steer();
    }
  }

  /** Waits a while until less than the most tickets are held: BullMQ may have fetched more jobs before it was paused. */
  async #hasRoom(): Promise<boolean> {
    const until = performance.now() + ROOM_WAIT_MS;
    while (this.#running.size >= this.#most && !this.#ending.signal.aborted) {
      const restMs = until - performance.now();
      if (restMs <= 0) return false;
      await this.#freed(restMs);
    }
    return true;
  }

  /** Resolves when a ticket ended that no other job waits for, at the latest after `mostMs`. */
  #freed(mostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = () => {
        clearTimeout(timer);
        this.#waiting.delete(goOn);
        resolve();
      };
      const timer = setTimeout(goOn, mostMs);
      this.#waiting.add(goOn);
    });
  }

  /**
   * What is bounded are tickets; BullMQ counts jobs. It fetches one more than surely fit into the room there is, and none without room: having as many as it
   * may, it would fetch again when one of these ends only, and that may be long after there is room.
   */
  #steer(): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    const room = Math.max(0, this.#most - this.#running.size);
    worker.concurrency = this.#jobs + 1 + Math.ceil(room / MOST_IN_A_JOB);
    if (room === 0 && !worker.isPaused()) void worker.pause(true);
    if (room > 0 && worker.isPaused()) this.#resuming ??= setTimeout(() => this.#resume(), RESUME_AFTER_MS);
  }

  #resume(): void {
    this.#resuming = undefined;
    const room = this.#most - this.#running.size;
    if (room > 0 && this.#direct === undefined && !this.#ending.signal.aborted) void this.#worker?.resume();
  }

  /** Tickets this process holds at once, but for the last job's. */
  get #most(): number {
    return this.#options.concurrency ?? TICKET_CONCURRENCY;
  }

  /** Hints: a line each, `<generation>#<slot>#<held>#<destination>`. */
  #listen(): void {
    const subscriber = connectForTickets(this.#options.url);
    this.#clients.push(subscriber);
    const channel = `${this.#options.tag}:hint`;
    subscriber.on("message", (_channel: string, text: string) => {
      void this.add(text.split("\n").flatMap((line) => this.#onHint(line)));
    });
    // Not awaited: a worker may be started before Redis is; a hint that is missed meanwhile costs at most 2 s.
    void subscriber.subscribe(channel).catch(() => undefined);
  }

  /** @returns the ticket that it asks for, unless somebody holds that: they listen too */
  #onHint(line: string): Ticket[] {
    const [generation, slot, held, ...rest] = line.split("#");
    const destination = rest.join("#");
    if (!(this.#configured(destination) ?? true)) return [];
    this.#handlers?.onHint(destination);
    if (held === "1" && slot === "0") return [];
    return [{ destination, slot: Number(slot), generation: Number(generation) }];
  }

  /** Whether this process's configuration has the route of a destination; `undefined`: it does not say. */
  #configured(destination: string): boolean | undefined {
    const { owns, dedicatedRoute } = this.#options;
    if (owns !== undefined) return owns(destination);
    return dedicatedRoute === undefined ? undefined : destination.startsWith(`${dedicatedRoute}/`);
  }

  /** One process does it for all: each ticket goes into the queue of those who serve its destination. The own configuration is the surer knowledge. */
  async #onJanitor(missing: readonly MissingTicket[]): Promise<void> {
    const byQueue = new Map<string, Ticket[]>();
    for (const { destination, generation, servedBy } of missing) {
      const queueName = this.#configured(destination) === true ? this.#queueName : ticketQueue(servedBy);
      const tickets = byQueue.get(queueName) ?? [];
      tickets.push({ destination, generation, slot: 0 });
      byQueue.set(queueName, tickets);
    }
    for (const [queueName, tickets] of byQueue) {
      if (queueName === this.#queueName && this.#direct !== undefined) this.#drainDirectly(tickets);
      else await this.add(tickets, queueName);
    }
  }

  #drainDirectly(tickets: readonly Ticket[]): void {
    for (const ticket of tickets) {
      void this.#run(ticket, this.#ending.signal).catch(() => {
        // The handler reports its own faults; the janitor comes by again.
      });
    }
  }

  #onWorkerError(error: unknown): void {
    if (asCustodyError(error).code !== "OutOfMemory" || this.#direct !== undefined || this.#stopping) return;
    void this.#worker?.pause(true);
    this.#options.janitor.hurry(DIRECT_POLL_MS);
    this.#direct = setTimeout(() => {
      this.#direct = undefined;
      this.#options.janitor.hurry(undefined);
      this.#resume();
    }, DIRECT_RETRY_MS);
  }

  async #stop(): Promise<void> {
    this.#options.janitor.stop();
    clearTimeout(this.#direct);
    clearTimeout(this.#resuming);
    this.#ending.abort();
    for (const goOn of this.#waiting) goOn();
    // Fetches nothing more. Not `close` yet: whether that may wait for Redis is known only when the tickets are back.
    await this.#worker?.pause(true);
    await Promise.allSettled(this.#running);
    this.#stopping = true;
    const isLost = this.#clients.some(({ status }) => status !== "ready");
    const closing = this.#worker?.close(isLost);
    // A frozen Redis must not hold the process: what BullMQ cannot say it finished is found stalled.
    await Promise.race([
      Promise.allSettled([closing ?? Promise.resolve()]),
      new Promise((resolve) => setTimeout(resolve, 5_000).unref()),
    ]);
    await Promise.race([
      Promise.allSettled([this.#queues?.close()]),
      new Promise((resolve) => setTimeout(resolve, 1_000).unref()),
    ]);
    for (const client of this.#clients) client.disconnect();
  }
}
