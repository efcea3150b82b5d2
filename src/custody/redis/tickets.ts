import { type Job, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { Outbox, Ticket } from "../port.ts";
import { type CustodyClient, connectForTickets, type RedisUrl } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import type { Janitor, MissingTicket } from "./janitor.ts";
import { ticketQueue } from "./keys.ts";
import { type TicketData, TicketQueues } from "./ticket-queues.ts";

/** Tickets a process holds at once. A ticket is a destination, not a request: this is how many destinations a process drains side by side. */
const TICKET_CONCURRENCY = 1_000;
/** While BullMQ answers OOM, destinations with due work are looked up this often. */
const DIRECT_POLL_MS = 250;
/** … and BullMQ is tried again this often. */
const DIRECT_RETRY_MS = 1_000;

type Handlers = Parameters<Outbox["start"]>[0];

/** BullMQ refuses some characters in a job id; destinations are other people's words. */
function jobId({ destination, slot, generation }: Ticket, suffix = ""): string {
  return `${encodeURIComponent(destination)}#${slot}#${generation}${suffix}`;
}

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
  #running = new Set<Promise<void>>();
  #direct: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(options: TicketSourceOptions) {
    this.#options = options;
    this.#queueName = ticketQueue(options.dedicatedRoute);
  }

  /** Writes a ticket that is ready now. One whose id is known to BullMQ changes nothing. */
  async add(ticket: Ticket): Promise<void> {
    await this.#write(ticket, jobId(ticket), 0);
  }

  /** Writes a ticket for a time (Unix ms). Its id is its own: it must not stand in the way of a ready one of the same generation. */
  async wake(destination: string, at: number, generation: number): Promise<void> {
    await this.#write(
      { destination, generation, slot: 0 },
      jobId({ destination, slot: 0, generation }, `@${at}`),
      Math.max(0, at - Date.now()),
    );
  }

  /** Asks for further tickets of a destination whose lane has grown; they take the generation of the one that is held. */
  async widen(destination: string, slots: number): Promise<void> {
    const generation = Number((await this.#options.redis.hget(`${this.#options.tag}:gate:${destination}`, "g")) ?? 0);
    for (let slot = 1; slot < slots; slot++) await this.add({ destination, slot, generation });
  }

  /** A ticket this process cannot serve goes to those who do, unless that is its own queue: there it would come back at once. */
  async handOver(ticket: Ticket, servedBy: string | undefined): Promise<void> {
    const queueName = ticketQueue(servedBy);
    if (queueName !== this.#queueName) await this.#write(ticket, jobId(ticket), 0, queueName);
  }

  start(handlers: Handlers): Promise<() => Promise<void>> {
    const { url, tag, janitor } = this.#options;
    this.#handlers = handlers;
    const shared = connectForTickets(url, (copy) => this.#clients.push(copy));
    this.#clients.push(shared);
    this.#queues = new TicketQueues(shared, tag);
    this.#worker = new Worker<TicketData, void>(this.#queueName, (job, _token, signal) => this.#onJob(job, signal), {
      connection: shared,
      prefix: tag,
      concurrency: this.#options.concurrency ?? TICKET_CONCURRENCY,
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

  async #write(ticket: Ticket, id: string, delay: number, queueName = this.#queueName): Promise<void> {
    if (this.#queues === undefined || this.#stopping) return;
    try {
      await this.#queues.add(queueName, ticket, { jobId: id, delay });
    } catch (error) {
      // The janitor writes it anew, or drains without it: a ticket is never worth failing what asked for it.
      this.#onWorkerError(error);
    }
  }

  async #onJob(job: Job<TicketData>, signal: AbortSignal | undefined): Promise<void> {
    const { d: destination, g: generation, s: slot } = job.data;
    await this.#run({ destination, generation, slot }, signal);
  }

  async #run(ticket: Ticket, signal: AbortSignal | undefined): Promise<void> {
    if (this.#handlers === undefined || this.#stopping) return;
    const ending = this.#ending.signal;
    const run = this.#handlers.onTicket(ticket, signal ? AbortSignal.any([signal, ending]) : ending);
    this.#running.add(run);
    try {
      await run;
    } finally {
      this.#running.delete(run);
    }
  }

  /** Hints: `<generation>#<slot>#<held>#<destination>`. */
  #listen(): void {
    const subscriber = connectForTickets(this.#options.url);
    this.#clients.push(subscriber);
    const channel = `${this.#options.tag}:hint`;
    subscriber.on("message", (_channel: string, text: string) => {
      const [generation, slot, held, ...rest] = text.split("#");
      const destination = rest.join("#");
      if (!(this.#configured(destination) ?? true)) return;
      this.#handlers?.onHint(destination);
      if (held === "1" && slot === "0") return;
      void this.add({ destination, slot: Number(slot), generation: Number(generation) });
    });
    // Not awaited: a worker may be started before Redis is; a hint that is missed meanwhile costs at most 2 s.
    void subscriber.subscribe(channel).catch(() => undefined);
  }

  /** Whether this process's configuration has the route of a destination; `undefined`: it does not say. */
  #configured(destination: string): boolean | undefined {
    const { owns, dedicatedRoute } = this.#options;
    if (owns !== undefined) return owns(destination);
    return dedicatedRoute === undefined ? undefined : destination.startsWith(`${dedicatedRoute}/`);
  }

  /** One process does it for all: each ticket goes into the queue of those who serve its destination. The own configuration is the surer knowledge. */
  async #onJanitor({ destination, generation, servedBy }: MissingTicket): Promise<void> {
    const ticket = { destination, generation, slot: 0 };
    const isOwn = this.#configured(destination) === true || ticketQueue(servedBy) === this.#queueName;
    if (!isOwn) return this.handOver(ticket, servedBy);
    if (this.#direct === undefined) return this.add(ticket);
    void this.#run(ticket, undefined).catch(() => {
      // The handler reports its own faults; the janitor comes by again.
    });
  }

  #onWorkerError(error: unknown): void {
    if (asCustodyError(error).code !== "OutOfMemory" || this.#direct !== undefined || this.#stopping) return;
    void this.#worker?.pause(true);
    this.#options.janitor.hurry(DIRECT_POLL_MS);
    this.#direct = setTimeout(() => {
      this.#direct = undefined;
      this.#options.janitor.hurry(undefined);
      if (!this.#stopping) void this.#worker?.resume();
    }, DIRECT_RETRY_MS);
  }

  async #stop(): Promise<void> {
    this.#options.janitor.stop();
    clearTimeout(this.#direct);
    this.#ending.abort();
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
