import type { ProviderIdMatch, ProviderIdQuery } from "../provider-id.ts";
import type { CustodyClient } from "./connection.ts";
import { parseMeta } from "./record.ts";

type Found = Omit<ProviderIdMatch, "event">;

/** Newest events of a route whose headers are looked at, and how many of them in one round trip. */
const SCANNED = 1_000;
const PAGE = 100;
/** Buckets of a window in which a mark that still counts may lie: the present one, and two before it after an edit. */
const BUCKETS = 3;

/** Finds events by the id that their provider gave them. Reads only. */
export class ProviderIds {
  readonly #redis: CustodyClient;
  readonly #prefix: string;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
  }

  /** Newest first. Rejects with ioredis's error. */
  async find(query: ProviderIdQuery, now: number): Promise<readonly Found[]> {
    const [byMark, byHeader] = await Promise.all([this.#byMark(query, now), this.#byHeader(query)]);
    const found = new Map([...byMark, ...byHeader].map((one) => [one.eventId, one]));
    return [...found.values()].toSorted((a, b) => b.receivedAt - a.receivedAt);
  }

  async #byMark({ marks, windows }: ProviderIdQuery, now: number): Promise<readonly Found[]> {
    const keys = [`${this.#prefix}live`, ...windows.flatMap((window) => bucketsOf(this.#prefix, window, now))];
    const lookups = marks.flatMap((mark) => keys.map((key) => this.#redis.hget(key, mark.toString("base64url"))));
    return (await Promise.all(lookups)).flatMap((value) => {
      // The id of the event, its receipt and the hash of its body; written by `claim.lua`.
      const [eventId = "", receivedAt] = value?.split(" ") ?? [];
      return eventId === "" ? [] : [{ eventId, receivedAt: Number(receivedAt) }];
    });
  }

  async #byHeader({ route, id, headers }: ProviderIdQuery): Promise<readonly Found[]> {
    if (headers.length === 0) return [];
    const ids = await this.#redis.zrange(`${this.#prefix}log:${route}`, "0", String(SCANNED - 1), "REV");
    const found: Found[] = [];
    for (let from = 0; from < ids.length; from += PAGE) {
      const page = ids.slice(from, from + PAGE);
      // oxlint-disable-next-line no-await-in-loop -- one page after the other, so that others get their turn at Redis
      const metas = await Promise.all(page.map((eventId) => this.#redis.hget(`${this.#prefix}e:${eventId}`, "m")));
      for (const [index, eventId] of page.entries()) {
        const receivedAt = receiptIfNamed(metas[index], id, headers);
        if (receivedAt !== undefined) found.push({ eventId, receivedAt });
      }
    }
    return found;
  }
}

function bucketsOf(prefix: string, window: number, now: number): string[] {
  const number = Math.floor(now / window);
  return Array.from({ length: BUCKETS }, (_, back) => `${prefix}seen:${window}:${number - back}`);
}

/** When the event was received, if one of its kept headers is the id. A record that only a newer Davit may read is passed over. */
function receiptIfNamed(text: string | null | undefined, id: string, names: readonly string[]): number | undefined {
  // Most events are other ones: their metadata need not be parsed. The id stands in JSON there.
  if (!text?.includes(JSON.stringify(id).slice(1, -1))) return undefined;
  try {
    const { headers, receivedAt } = parseMeta(text);
    return names.some((name) => headers[name] === id) ? receivedAt : undefined;
  } catch {
    return undefined;
  }
}
