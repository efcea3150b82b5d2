import { StoreError, type VersionEntry, type VersionPage } from "../store/port.ts";
import { compareKeys } from "./key-order.ts";
import type { KeyGroup } from "./types.ts";

/** Most entries of one key that are held. */
export const MAX_GROUP = 10_000;

/**
 * Puts the entries of a listing together by key. A group comes out when an entry of another key shows that it is complete, so never before the page after the
 * one it ends on.
 */
export class KeyGroups {
  readonly #after: string | undefined;
  readonly #most: number;
  #key: string | undefined;
  /** Newest first, as listed; empty once there are too many. */
  #entries: VersionEntry[] = [];
  #size = 0;
  /** The group goes on from one page to another. */
  #hasPages = false;

  /** @param options `after`: keys up to this one are left out. `most`: see {@link MAX_GROUP} */
  constructor({ after, most = MAX_GROUP }: { readonly after?: string; readonly most?: number } = {}) {
    this.#after = after;
    this.#most = most;
  }

  /**
   * Takes the next page in.
   * @returns the groups that are complete by it
   * @throws {@link StoreError} `InvalidListing` when two pages list the same version: what is on top of it is then not known. It may be tried again, as somebody
   * may have taken the page's marker away
   */
  push({ entries }: VersionPage): KeyGroup[] {
    const complete: KeyGroup[] = [];
    if (this.#key !== undefined && entries[0]?.key === this.#key) this.#hasPages = true;
    for (const entry of entries) {
      if (entry.key !== this.#key) {
        if (this.#key === undefined && this.#isBefore(entry.key)) continue;
        complete.push(...this.finish());
        this.#key = entry.key;
      }
      this.#add(entry);
    }
    return complete;
  }

  /** After the last page. @returns the last group, unless there was none */
  finish(): KeyGroup[] {
    if (this.#key === undefined) return [];
    const group = {
      key: this.#key,
      entries: this.#entries.toReversed(),
      ...(this.#size > this.#most && { tooLarge: this.#size }),
    };
    if (this.#hasPages) checkUnique(this.#entries);
    this.#key = undefined;
    this.#entries = [];
    this.#size = 0;
    this.#hasPages = false;
    return [group];
  }

  #isBefore(key: string): boolean {
    return this.#after !== undefined && compareKeys(key, this.#after) <= 0;
  }

  #add(entry: VersionEntry): void {
    this.#size += 1;
    if (this.#size <= this.#most) this.#entries.push(entry);
    else this.#entries = [];
  }
}

function checkUnique(entries: readonly VersionEntry[]): void {
  if (new Set(entries.map(({ versionId }) => versionId)).size === entries.length) return;
  const message = "two pages of the store's listing have the same version: nothing can be chosen by them";
  throw new StoreError("InvalidListing", message, { retryable: true });
}
