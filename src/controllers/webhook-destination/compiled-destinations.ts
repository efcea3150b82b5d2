import type { DestinationEntry } from "../../routes/entry.ts";

/** What workers are to be told of each WebhookDestination, as it was compiled last. Holds keys: it lives in memory only. */
export class CompiledDestinations {
  readonly #entries = new Map<string, DestinationEntry>();

  /** @param key `namespace/name` */
  get(key: string): DestinationEntry | undefined {
    return this.#entries.get(key);
  }

  /** @returns whether it says something new */
  put(key: string, entry: DestinationEntry): boolean {
    const before = this.#entries.get(key);
    this.#entries.set(key, entry);
    return before === undefined || before.seq !== entry.seq || JSON.stringify(before) !== JSON.stringify(entry);
  }

  drop(key: string): void {
    this.#entries.delete(key);
  }
}
