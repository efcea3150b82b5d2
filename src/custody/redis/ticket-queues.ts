import { type BulkJobOptions, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { Collector } from "../../lib/collector.ts";
import type { TicketData, TicketJob } from "./ticket-jobs.ts";

/** Queues of other workers that are kept open: a process writes a ticket into them only now and then. */
const MAX_OPEN = 32;

/** Jobs written at once. */
const MOST = 100;

const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1, stackTraceLimit: 0 };

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

  /** @param delay ms. A job whose id is known to BullMQ changes nothing */
  async add(name: string, { jobId, data }: TicketJob, delay: number): Promise<void> {
    await this.#queue(name).added.add({ name: "drain", data, opts: { ...JOB_OPTIONS, jobId, delay } });
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
