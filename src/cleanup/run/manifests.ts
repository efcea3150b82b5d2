import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import { parseDuration } from "../../lib/duration.ts";
import type { Timers } from "../../lib/timers.ts";
import { manifestKeys } from "../plan/manifest-keys.ts";
import { type ObjectStore, StoreError } from "../store/port.ts";
import { RunFailure } from "./failure.ts";
import type { StoreLimiter } from "./limiter.ts";

/** What is held of manifests at most. */
export interface ManifestBounds {
  readonly objects: number;
  /** Of one object, bytes. */
  readonly bytes: number;
  readonly keys: number;
  /** Of all keys, UTF-16 units. */
  readonly characters: number;
}

const BOUNDS: ManifestBounds = { objects: 10_000, bytes: 8 * 2 ** 20, keys: 500_000, characters: 32 * 2 ** 20 };

export interface ManifestsOptions {
  readonly store: ObjectStore;
  readonly limiter: StoreLimiter;
  readonly timers: Timers;
  readonly exclusions: CleanupSnapshot["exclusions"];
  readonly bounds?: ManifestBounds;
}

/** The keys that manifests name. All manifests or none: what cannot be read in full ends the run. */
export class Manifests {
  readonly #options: ManifestsOptions;
  readonly #maxAge: number;
  #keys: ReadonlySet<string> = new Set();
  /** Monotonic ms before the first of them was read. */
  #readAt: number | undefined;

  constructor(options: ManifestsOptions) {
    this.#options = options;
    this.#maxAge = parseDuration(options.exclusions.maxAge);
  }

  readonly isReferenced = (key: string): boolean => this.#keys.has(key);

  /** They were read longer ago than `exclusions.maxAge`, or never. */
  get stale(): boolean {
    const { exclusions, timers } = this.#options;
    if (exclusions.manifests.length === 0) return false;
    return this.#readAt === undefined || timers.monotonic() - this.#readAt >= this.#maxAge;
  }

  /**
   * Reads them again when they are {@link stale}.
   * @throws {@link RunFailure} `ManifestUnreadable`; retryable when one went between being listed and being read
   */
  async refresh(signal: AbortSignal): Promise<void> {
    if (!this.stale) return;
    const readAt = this.#options.timers.monotonic();
    const keys = new ManifestKeys(this.#options.bounds ?? BOUNDS);
    for (const { prefix, keysFrom } of this.#options.exclusions.manifests)
      await this.#readAll(prefix, keysFrom, { keys, signal });
    this.#keys = keys.keys;
    this.#readAt = readAt;
  }

  async #readAll(
    prefix: string,
    keysFrom: string,
    { keys, signal }: { readonly keys: ManifestKeys; readonly signal: AbortSignal },
  ): Promise<void> {
    const { store, limiter, bounds = BOUNDS } = this.#options;
    let objects = 0;
    for await (const key of store.listKeys(prefix, signal)) {
      objects += 1;
      if (objects > bounds.objects) throw unreadable(prefix, `there are more than ${bounds.objects} objects`);
      const body = await limiter
        .run(signal, () => store.read(key, bounds.bytes, signal))
        .catch((error: unknown) => {
          throw readFailure(prefix, error);
        });
      keys.add(prefix, keysIn(prefix, body, keysFrom));
    }
    if (objects === 0) throw unreadable(prefix, "there is none");
  }
}

class ManifestKeys {
  readonly keys = new Set<string>();
  readonly #bounds: ManifestBounds;
  #characters = 0;

  constructor(bounds: ManifestBounds) {
    this.#bounds = bounds;
  }

  add(prefix: string, keys: readonly string[]): void {
    for (const key of keys) {
      if (this.keys.has(key)) continue;
      this.keys.add(key);
      this.#characters += key.length;
    }
    if (this.keys.size > this.#bounds.keys || this.#characters > this.#bounds.characters)
      throw unreadable(
        prefix,
        `they name more than ${this.#bounds.keys} keys, or ${this.#bounds.characters} characters of keys`,
      );
  }
}

function keysIn(prefix: string, body: Buffer, keysFrom: string): readonly string[] {
  try {
    return manifestKeys(body, keysFrom);
  } catch (error) {
    throw unreadable(prefix, `one has no keys at ${keysFrom}`, error);
  }
}

function readFailure(prefix: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code === "ManifestTooLarge") return unreadable(prefix, "one is too large", error);
  if (error.code !== "NoSuchKey") return error;
  return new RunFailure("ManifestUnreadable", `manifests under ${prefix}: one went while they were read`, {
    retryable: true,
    cause: error,
  });
}

function unreadable(prefix: string, what: string, cause?: unknown): RunFailure {
  return new RunFailure("ManifestUnreadable", `manifests under ${prefix}: ${what}; nothing is deleted without them`, {
    cause,
  });
}
