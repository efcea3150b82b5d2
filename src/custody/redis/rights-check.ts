import { CustodyError } from "../port.ts";
import type { Scope } from "./keys.ts";
import type { RedisStore } from "./store.ts";

/** Time between two tries, ms: rights may be given later than the process starts. */
const AGAIN_MS = 5_000;

export interface RightsCheckOptions {
  readonly store: Pick<RedisStore, "selfTest" | "health">;
  readonly scope: Scope;
  /** Is told once when the user lacks something, and once when it is right. */
  readonly onChange: (problem: string | undefined) => void;
}

/** Runs the store's self-test until it has passed once, so that a Redis user who lacks a right learns it at the start and not with the first event. */
export class RightsCheck {
  readonly #options: RightsCheckOptions;
  #problem: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: RightsCheckOptions) {
    this.#options = options;
  }

  /** What the user lacks, as far as is known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** One try now; goes on by itself until one passes. */
  async start(): Promise<void> {
    const passed = await this.#try();
    if (passed || this.#stopped) return;
    this.#timer = setTimeout(() => void this.start(), AGAIN_MS);
    this.#timer.unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #try(): Promise<boolean> {
    const { store, scope, onChange } = this.#options;
    if (!store.health().up) return false;
    try {
      await store.selfTest(scope);
    } catch (error) {
      if (!(error instanceof CustodyError) || error.code !== "Denied" || this.#stopped) return false;
      const problem = `${error.message} (${wordsOf(error.cause)})`;
      if (problem !== this.#problem) onChange(problem);
      this.#problem = problem;
      return false;
    }
    if (this.#problem !== undefined) onChange(undefined);
    this.#problem = undefined;
    return true;
  }
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message.slice(0, 200) : "no reason given";
}
