import { RedisStore } from "../custody/redis/store.ts";
import { type QueueOptions, resolveQueue } from "./queue.ts";

export type ReplayOptions = QueueOptions;

export interface ReplayResult {
  /** Whether it was dead and is live again. */
  readonly replayed: boolean;
  readonly jobId: string;
}

/**
 * Makes a dead letter live again under the same id, with a fresh schedule. It starts no worker: the queue's workers take it.
 * An id that is unknown or not dead is `{replayed: false}`.
 *
 * @throws CustodyError when Redis does not answer
 */
export async function replayDeadLetter(jobId: string, options: ReplayOptions = {}): Promise<ReplayResult> {
  const queue = resolveQueue(options);
  const store = new RedisStore({ url: queue.url });
  try {
    await store.start();
    const { replayed } = await store.ledger(queue.scope).replay(jobId);
    return { replayed: replayed > 0, jobId };
  } finally {
    store.close();
  }
}
