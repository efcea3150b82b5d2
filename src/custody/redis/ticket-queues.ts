import { type BulkJobOptions, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { Collector } from "../../lib/collector.ts";
import type { Ticket } from "../port.ts";

/** Queues of other workers that are kept open: a process writes a ticket into them only now and then. */
const MAX_OPEN = 32;

/** Tickets written at once. */
const MOST = 100;

const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1, stackTraceLimit: 0 };

/** What BullMQ carries of a ticket. */
export interface TicketData {
  readonly d: string;
  readonly g: number;
  readonly s: number;
}

interface NewJob {
  readonly name: string;
  readonly data: TicketData;
  readonly opts: BulkJobOptions;
}

/** A queue, and what is written into it in this turn of the event loop. */
interface OpenQueue {
  readonly queue: Queue<TicketData>;
  readonly added: Collector<NewJob, unknown>;
}

/** Ticket queues of a namespace to write into. They share one connection. */
export class TicketQueues {
  readonly #connection: Redis;
  readonly #tag: string;
  readonly #open = new Map<string, OpenQueue>();

  constructor(connection: Redis, tag: string) {
    this.#connection = connection;
    this.#tag = tag;
  }

  /** @param delay ms. A ticket whose `jobId` is known to BullMQ changes nothing */
  async add(name: string, ticket: Ticket, { jobId, delay }: { jobId: string; delay: number }): Promise<void> {
    const { destination: d, generation: g, slot: s } = ticket;
    await this.#queue(name).added.add({ name: "drain", data: { d, g, s }, opts: { ...JOB_OPTIONS, jobId, delay } });
  }

  /** Removes what lies in a queue that nobody serves any more. Tickets that are still needed are written anew by the janitor. */
  async retire(name: string): Promise<void> {
    const { queue } = this.#queue(name);
    await queue.drain(true);
    await queue.trimEvents(0);
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(open.map(({ queue }) => queue.close()));
  }

  #queue(name: string): OpenQueue {
    const known = this.#open.get(name);
    // The one used last goes to the end.
    this.#open.delete(name);
    const open = known ?? this.#create(name);
    this.#open.set(name, open);
    const [oldest] = this.#open;
    if (this.#open.size > MAX_OPEN && oldest !== undefined) {
      this.#open.delete(oldest[0]);
      // Not before what was added to it in this turn of the event loop has left.
      setImmediate(() => void oldest[1].queue.close().catch(() => undefined));
    }
    return open;
  }

  #create(name: string): OpenQueue {
    const queue = new Queue<TicketData>(name, {
      connection: this.#connection,
      prefix: this.#tag,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: JOB_OPTIONS,
    });
    queue.on("error", () => {
      // The worker reports the same connection; a second line a fault says nothing.
    });
    return { queue, added: new Collector<NewJob, unknown>(MOST, (jobs) => queue.addBulk([...jobs])) };
  }
}
