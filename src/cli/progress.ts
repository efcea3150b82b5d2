import type { Output } from "./command.ts";

const WIDTH = 30;
/** Where there is no terminal: a line for each tenth, or after this long, ms. */
const LINE_AFTER_MS = 10_000;

/** How far something has come. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  /** A word for what it does now: `running`, `paused`, … */
  readonly state: string;
}

/** Shows progress: a bar that is drawn over on a terminal, elsewhere a line now and then. */
export class ProgressBar {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #began: number;
  #told: { readonly at: number; readonly tenth: number; readonly state: string } | undefined;

  constructor(output: Output, now: () => number = Date.now) {
    this.#output = output;
    this.#now = now;
    this.#began = now();
  }

  show(progress: Progress): void {
    if (this.#output.isTTY === true) {
      this.#output.write(`\r${bar(progress)} ${this.#text(progress)}\u001b[K`);
      return;
    }
    const { state } = progress;
    const told = { at: this.#now(), tenth: Math.floor(ratio(progress) * 10), state };
    const last = this.#told;
    if (last?.state === state && last.tenth === told.tenth && told.at - last.at < LINE_AFTER_MS) return;
    this.#told = told;
    this.#output.write(`${this.#text(progress)}\n`);
  }

  /** Leaves the bar where it is: what is written next begins a line. */
  end(): void {
    if (this.#output.isTTY === true) this.#output.write("\n");
  }

  #text(progress: Progress): string {
    const { done, total, state } = progress;
    const seconds = (this.#now() - this.#began) / 1_000;
    const rate = seconds >= 1 ? `, ${Math.round(done / seconds)} a second` : "";
    return `${state}: ${done} of ${total} (${Math.floor(ratio(progress) * 100)} %)${rate}`;
  }
}

function ratio({ done, total }: Progress): number {
  return total === 0 ? 1 : Math.min(1, done / total);
}

function bar(progress: Progress): string {
  const filled = Math.floor(ratio(progress) * WIDTH);
  return `[${"#".repeat(filled)}${".".repeat(WIDTH - filled)}]`;
}
