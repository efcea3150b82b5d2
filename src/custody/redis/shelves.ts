import type {
  AdoptResult,
  DeletedRoute,
  OrphanedRoute,
  PurgeResult,
  ShelveResult,
  Shelves,
  UnshelveResult,
} from "../shelves.ts";
import { CustodyError } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { tagOf } from "./keys.ts";

/** Records of one script: some milliseconds of Redis. A page also ends after 256 copies. */
const PAGE = 200;
/** Scripts of one call. */
const PAGES = 25;
/** Values of one route in the reply of `orphans`. */
const ORPHAN_FIELDS = 7;

/** The shelves of a namespace on Redis. */
export class RedisShelves implements Shelves {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #directory: ShelfDirectory;
  readonly #namespace: string;
  readonly #page: number;

  constructor(
    redis: CustodyClient,
    tag: string,
    options: { directory: ShelfDirectory; namespace: string; page?: number },
  ) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#directory = options.directory;
    this.#namespace = options.namespace;
    this.#page = options.page ?? PAGE;
  }

  async orphans(): Promise<readonly OrphanedRoute[]> {
    const values = await ask(() => this.#redis.orphans(this.#prefix));
    const found: OrphanedRoute[] = [];
    for (let i = 0; i + ORPHAN_FIELDS <= values.length; i += ORPHAN_FIELDS) found.push(readOrphan(values.slice(i)));
    return found;
  }

  routes(): Promise<readonly string[]> {
    return ask(async () => (await this.#redis.smembers(`${this.#prefix}routes`)).toSorted());
  }

  async shelve({ route, name, namespaceUid, destinations = [] }: DeletedRoute): Promise<ShelveResult> {
    // Before anything lies on a shelf: a namespace that is gone from the cluster is found by it.
    await this.#directory.add(this.#namespace).catch(unlessFull);
    let [shelved, active] = [0, 0];
    for (let page = 0; page < PAGES; page++) {
      const [put, running, more] = await ask(() =>
        this.#redis.shelve(this.#prefix, route, name, namespaceUid, this.#page, ...destinations),
      );
      shelved += put;
      active += running;
      if (!more) return { shelved, active, more: false };
    }
    return { shelved, active, more: true };
  }

  async unshelve(route: string): Promise<UnshelveResult> {
    let [unshelved, passed] = [0, 0];
    for (let page = 0; page < PAGES; page++) {
      const [put, more, next] = await ask(() => this.#redis.unshelve(this.#prefix, route, this.#page, passed));
      unshelved += put;
      passed = next;
      if (!more) return { unshelved, more: false };
    }
    return { unshelved, more: true };
  }

  async purge(route: string, olderThanMs: number): Promise<PurgeResult | undefined> {
    let result: PurgeResult | undefined;
    for (let page = 0; page < PAGES; page++) {
      const reply = await ask(() => this.#redis.purge(this.#prefix, route, Math.max(0, olderThanMs), this.#page));
      if (reply.length === 1) return undefined;
      const [records, undelivered, deadLetters, unreadable, more] = reply;
      result = { records, undelivered, deadLetters, unreadable, more: more === 1 };
      if (!result.more) break;
    }
    return result;
  }

  async adopt(from: string, to: string): Promise<AdoptResult> {
    if (from === to) throw new RangeError(`a route cannot adopt its own events: --from and --to are both ${to}`);
    const shelving = await this.shelve({ route: from, name: "", namespaceUid: "" });
    if (shelving.more) return { records: 0, left: 0, more: true };
    let [records, left, position] = [0, 0, ""];
    for (let page = 0; page < PAGES; page++) {
      const reply = await ask(() => this.#redis.adopt(this.#prefix, from, to, this.#page, position));
      if (reply.length === 1) break;
      records += reply[0];
      left += reply[1];
      position = reply[2];
      if (position === "") break;
    }
    return { records, left, more: position !== "" };
  }
}

/**
 * Which namespaces of an instance have shelves: their tags cannot be listed, and a namespace that was deleted is in no other list. A key of its own, without
 * a tag; only the controller writes it.
 */
export class ShelfDirectory {
  readonly #redis: CustodyClient;
  readonly #instance: string;
  readonly #key: string;

  constructor(redis: CustodyClient, instance: string) {
    this.#redis = redis;
    this.#instance = instance;
    this.#key = `davit:${instance}:shelves`;
  }

  add(namespace: string): Promise<unknown> {
    return ask(() => this.#redis.sadd(this.#key, namespace));
  }

  /** Forgets those whose shelves have been emptied. */
  async namespaces(): Promise<readonly string[]> {
    const named = await ask(() => this.#redis.smembers(this.#key));
    const found: string[] = [];
    for (const namespace of named.toSorted()) {
      const key = `${tagOf({ instance: this.#instance, namespace })}:orphans`;
      if ((await ask(() => this.#redis.exists(key))) === 1) found.push(namespace);
      else await ask(() => this.#redis.srem(this.#key, namespace));
    }
    return found;
  }
}

/** A full server refuses a plain write, and not the scripts that make room. The next call writes it. */
function unlessFull(error: unknown): void {
  if (!(error instanceof CustodyError) || error.code !== "OutOfMemory") throw error;
}

function readOrphan(values: readonly (string | number)[]): OrphanedRoute {
  const [route = "", shelvedAt, name = "", namespaceUid = "", events, deadLetters, records] = values;
  return {
    route: String(route),
    name: String(name),
    namespaceUid: String(namespaceUid),
    shelvedAt: Number(shelvedAt),
    events: Number(events),
    deadLetters: Number(deadLetters),
    records: Number(records),
  };
}

async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw asCustodyError(error);
  }
}
