import type { RouteEntry } from "../../routes/entry.ts";
import { loadManifests } from "../manifest-files.ts";
import { type Compilation, compileAll, type ServiceOverrides } from "./compilation.ts";
import { type Rings, readRings, writeRings } from "./rings.ts";
import { watchPaths } from "./watch.ts";

export interface LiveRoutesOptions {
  readonly paths: readonly string[];
  /** Where `rings.json` lies. */
  readonly dir: string;
  readonly instance: string;
  readonly services: ServiceOverrides;
  /** Takes over what is to be served from now on. */
  readonly serve: (entries: readonly RouteEntry[]) => Promise<void>;
  readonly say: (line: string) => void;
}

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
    const { paths, instance, services } = this.#options;
    const manifests = await loadManifests(paths);
    return compileAll({ manifests, rings: this.#rings, instance, services, now: Date.now() });
  }

  /** Makes a compilation without errors the one that is served. The rings are on disk before any new key is accepted. */
  async publish(compilation: Compilation): Promise<void> {
    const { dir, serve } = this.#options;
    this.#rings = { ...this.#rings, entries: compilation.entries };
    writeRings(dir, this.#rings);
    await serve([...compilation.entries.values()]);
    this.#lookAgainAt(compilation.nextChangeAt);
  }

  watch(): void {
    this.#stopWatching = watchPaths(this.#options.paths, () => this.#look());
  }

  async stop(): Promise<void> {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    clearTimeout(this.#timer);
    await this.#busy;
  }

  #look(): void {
    this.#busy = this.#busy.then(() => this.#reload());
  }

  async #reload(): Promise<void> {
    try {
      const compilation = await this.compile();
      if (compilation.errors.length > 0) {
        return this.#tell([...compilation.errors, "nothing was changed: what was served before still is"]);
      }
      await this.publish(compilation);
      this.#tell([...compilation.warnings, ...this.#changes(compilation)]);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#tell([message, "nothing was changed: what was served before still is"]);
    }
  }

  #changes({ changed, removed, entries }: Compilation): string[] {
    return [
      ...changed.map((key) => `${key} is served as written now${keysOf(entries.get(key))}`),
      ...removed.map((key) => `${key} is not served any more; what it has queued is kept`),
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

function keysOf(entry: RouteEntry | undefined): string {
  const keys = (entry?.keys ?? []).map(({ id, state, notAfter }) => {
    const end = notAfter === undefined ? "" : ` until ${new Date(notAfter).toISOString()}`;
    return `${state} ${id}${end}`;
  });
  return keys.length > 1 ? ` (keys: ${keys.join(", ")})` : "";
}
