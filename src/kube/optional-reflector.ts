import { sleep, systemTimers, type Timers } from "../lib/timers.ts";
import { serves } from "./discovery.ts";
import type { KubeObject } from "./objects.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

/** How often the server is asked whether it serves the kind, ms. */
const POLL_MS = 60_000;

/** A watch on a kind that a cluster may lack. */
export interface OptionalReflectorOptions<T extends KubeObject> extends ReflectorOptions<T> {
  readonly pollMs?: number;
  /** The kind appeared (true) or disappeared (false). */
  readonly onAvailable?: (available: boolean) => void;
}

/**
 * Watches a kind while the server serves it: starts when discovery shows it, ends and forgets its objects when discovery says that it is gone.
 * Nothing waits for it; `available` is false until the kind is there.
 */
export class OptionalReflector<T extends KubeObject> {
  readonly reflector: Reflector<T>;
  readonly #options: OptionalReflectorOptions<T>;
  readonly #timers: Timers;
  #available: boolean | undefined;

  constructor(options: OptionalReflectorOptions<T>) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.reflector = new Reflector(options);
  }

  /** Whether the server serves the kind, by the last answer it gave. */
  get available(): boolean {
    return this.#available === true;
  }

  /** Whether it is known either way: discovery answered, and if there is such a kind, its objects were listed. */
  get settled(): boolean {
    return this.#available === false || (this.#available === true && this.reflector.hasSynced);
  }

  /** Polls and watches until the signal fires. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    let watching: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
    const { pollMs = POLL_MS } = this.#options;
    while (!signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- a poll
      const served = await this.#ask(signal);
      if (served === true && !watching) {
        const stop = new AbortController();
        watching = { stop, done: this.reflector.run(AbortSignal.any([signal, stop.signal])) };
      } else if (served === false && watching) {
        watching.stop.abort();
        // oxlint-disable-next-line no-await-in-loop -- as above
        await watching.done;
        watching = undefined;
        this.reflector.clear();
      }
      this.#tell(served);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(this.#timers, pollMs * (0.9 + 0.2 * Math.random()), signal);
    }
    await watching?.done;
  }

  /** @returns `undefined` when the server does not say: then all stays as it is */
  async #ask(signal: AbortSignal): Promise<boolean | undefined> {
    try {
      return await serves(this.#options.transport, this.#options.type, { signal });
    } catch (error) {
      if (!signal.aborted) this.#options.onError?.(error);
      return undefined;
    }
  }

  #tell(served: boolean | undefined): void {
    if (served === undefined || served === this.#available) return;
    this.#available = served;
    this.#options.onAvailable?.(served);
  }
}
