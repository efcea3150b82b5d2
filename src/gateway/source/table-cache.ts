import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** First line of the file: another format is another name. */
const FORMAT = "davit-routes-1";
const FILE = "routes.cache";

/** What a restart finds: names of Secrets and the publications in use, base64 of their JSON. */
export type CachedPublications = Iterable<readonly [name: string, data: string]>;

/**
 * Keeps the publications that a gateway serves in a file, so that a restart while the API server is away serves at once. They hold keys: the
 * directory belongs in memory, and only this user may read the file. Written whole and put in place by a rename, so it is never half a file.
 */
export class TableCache {
  readonly #directory: string;
  readonly #instance: string;

  constructor(directory: string, instance: string) {
    this.#directory = directory;
    this.#instance = instance;
  }

  /** @returns `undefined` when there is none, or one of another format or instance */
  async read(): Promise<Map<string, string> | undefined> {
    let text: string;
    try {
      text = await readFile(join(this.#directory, FILE), "utf8");
    } catch {
      return undefined;
    }
    const [first, ...lines] = text.split("\n");
    if (first !== this.#firstLine()) return undefined;
    const publications = new Map<string, string>();
    for (const line of lines) {
      const [name = "", data = ""] = line.split(" ", 2);
      if (data !== "") publications.set(name, data);
    }
    return publications;
  }

  /** @throws the file system's error */
  async write(publications: CachedPublications): Promise<void> {
    const lines = [this.#firstLine()];
    for (const [name, data] of publications) lines.push(`${name} ${data}`);
    const file = join(this.#directory, FILE);
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, lines.join("\n"), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  #firstLine(): string {
    return `${FORMAT} ${this.#instance}`;
  }
}
