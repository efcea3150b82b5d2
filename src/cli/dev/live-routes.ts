import type { RouteEntry } from "../../routes/entry.ts";
import { loadManifests } from "../manifest-files.ts";
import { type Compilation, compileAll, type ServiceOverrides } from "./compilation.ts";
import type { DevDestination } from "./destinations.ts";
import { type Rings, readRings, writeRings } from "./rings.ts";
import type { ShelfNews } from "./shelves.ts";
import { watchPaths } from "./watch.ts";

export interface LiveRoutesOptions {
  readonly paths: readonly string[];
  /** Where `rings.json` lies. */
  readonly dir: string;
  readonly instance: string;
  readonly services: ServiceOverrides;
  /** See `CompilationInput`. */
  readonly claimHoldMs: number;
  /** Takes over what is to be served from now on. */
  readonly serve: (served: Served) => Promise<void>;
  /** Puts the events of removed routes on their shelves, and takes up those of the others. */
  readonly shelve: (entries: Rings["entries"], removed: Rings["removed"]) => Promise<ShelfNews>;
  readonly say: (line: string) => void;
}

/** What is to be served. */
export interface Served {
  readonly entries: readonly RouteEntry[];
  readonly destinations: readonly DevDestination[];
  readonly policies: Compilation["policies"];
  readonly secrets: Compilation["secrets"];
  readonly conflicts: Compilation["conflicts"];
}

/** A removed route is looked at again after this long, ms: requests and attempts that were under way have an end by then. */
const SHELVES_MS = 5_000;
/** And shelves whose time may be over, ms. */
const SHELVES_AGAIN_MS = 600_000;

/** A timer cannot be set further ahead. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Keeps what is served equal to what the manifest files say: every look reads all of them. What cannot be compiled is told and changes nothing.
 */
export class LiveRoutes {
  readonly #options: LiveRoutesOptions;
  #rings: Rings;
  #busy: Promise<void> = Promise.resolve();
  #stopWatching: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #shelvesTimer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #told = "";

  constructor(options: LiveRoutesOptions) {
    this.#options = options;
    this.#rings = readRings(options.dir);
  }

  /**
   * Reads and compiles; nothing is changed.
   * @throws ManifestPathError
   */
  async compile(): Promise<Compilation> {
    const { paths, instance, services, claimHoldMs } = this.#options;
    const manifests = await loadManifests(paths);
    return compileAll({ manifests, rings: this.#rings, instance, services, claimHoldMs, now: Date.now() });
  }

  /**
   * Makes a compilation without errors the one that is served. The rings are on disk before any new key is accepted.
   * @returns what became of the events of routes that are gone, by `namespace/name`
   */
  async publish(compilation: Compilation): Promise<ShelfNews["byRoute"]> {
    const { dir, serve } = this.#options;
    const { entries, destinations, policies, secrets, removed, conflicts, released, known } = compilation;
    const gone = new Map([...this.#rings.removed].filter(([key]) => !entries.has(key)));
    for (const key of removed) {
      const entry = this.#rings.entries.get(key);
      if (entry !== undefined) gone.set(key, known.has(key) ? retained(entry) : entry);
    }
    this.#rings = { ...this.#rings, entries, destinations, removed: gone, released, known };
    writeRings(dir, this.#rings);
    await serve({
      entries: [...entries.values()],
      destinations: [...destinations.values()],
      policies,
      secrets,
      conflicts,
    });
    this.#lookAgainAt(compilation.nextChangeAt);
    return this.#shelve(new Set(removed));
  }

  /**
   * A round over the shelves. What it does not finish is done by a later one.
   * @param fresh routes that went just now: requests to them may still be under way
   */
  async #shelve(fresh: ReadonlySet<string> = new Set()): Promise<ShelfNews["byRoute"]> {
    const { shelve, dir, say } = this.#options;
    let isDone = false;
    try {
      const { entries, removed } = this.#rings;
      const { active, byRoute, lines } = await shelve(entries, removed);
      for (const line of lines) say(line);
      const left = [...removed].filter(([key]) => active.has(key) || fresh.has(key));
      this.#rings = { ...this.#rings, removed: new Map(left) };
      if (left.length < removed.size) writeRings(dir, this.#rings);
      isDone = left.length === 0;
      return byRoute;
    } catch {
      // Redis is away, which is told elsewhere.
      return new Map();
    } finally {
      clearTimeout(this.#shelvesTimer);
      const wait = isDone ? SHELVES_AGAIN_MS : SHELVES_MS;
      this.#shelvesTimer = setTimeout(() => this.#next(async () => void (await this.#shelve())), wait);
      this.#shelvesTimer.unref();
    }
  }

  watch(): void {
    this.#stopWatching = watchPaths(this.#options.paths, () => this.#look());
  }

  async stop(): Promise<void> {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    clearTimeout(this.#timer);
    this.#isStopped = true;
    await this.#busy;
    clearTimeout(this.#shelvesTimer);
  }

  #look(): void {
    this.#next(() => this.#reload());
  }

  #next(work: () => Promise<void>): void {
    if (!this.#isStopped) this.#busy = this.#busy.then(work);
  }

  async #reload(): Promise<void> {
    try {
      const compilation = await this.compile();
      if (compilation.errors.length > 0) {
        return this.#tell([...compilation.errors, "nothing was changed: what was served before still is"]);
      }
      const shelved = await this.publish(compilation);
      this.#tell([...compilation.warnings, ...this.#changes(compilation, shelved)]);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#tell([message, "nothing was changed: what was served before still is"]);
    }
  }

  #changes(compilation: Compilation, shelved: ShelfNews["byRoute"]): string[] {
    const { changed, removed, entries, changedDestinations, removedDestinations } = compilation;
    return [
      ...changedDestinations.map((key) => `${key}: events go to this WebhookDestination as written now`),
      ...removedDestinations.map((key) => `${key} is no WebhookDestination any more; its events become dead letters`),
      ...changed.map((key) => `${key} is served as written now${keysOf(entries.get(key))}`),
      ...removed.map((key) => `${key} is not served any more; ${shelved.get(key) ?? "its events are kept"}`),
    ];
  }

  /** A timer that fires may find nothing new: that is not said twice. */
  #tell(lines: readonly string[]): void {
    const text = lines.join("\n");
    if (text !== "" && text !== this.#told) for (const line of lines) this.#options.say(line);
    this.#told = text;
  }

  #lookAgainAt(time: number | undefined): void {
    clearTimeout(this.#timer);
    if (time === undefined) return;
    this.#timer = setTimeout(() => this.#look(), Math.min(MAX_TIMER_MS, Math.max(1, time - Date.now() + 1)));
    this.#timer.unref();
  }
}

/** A route that lost its place is not deleted: its events wait for it on the shelf, whatever its `deletionPolicy`. */
function retained(entry: RouteEntry): RouteEntry {
  const { deletionPolicy, ...others } = entry;
  return deletionPolicy === "Purge" ? others : entry;
}

function keysOf(entry: RouteEntry | undefined): string {
  const keys = (entry?.keys ?? []).map(({ id, state, notAfter }) => {
    const end = notAfter === undefined ? "" : ` until ${new Date(notAfter).toISOString()}`;
    return `${state} ${id}${end}`;
  });
  return keys.length > 1 ? ` (keys: ${keys.join(", ")})` : "";
}
