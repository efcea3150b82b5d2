import { FetchError, type Fetch } from "../egress/guarded-fetch.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { sha256Head } from "../lib/hash.ts";
import { Semaphore } from "../lib/semaphore.ts";
import { refuse, type Refusal } from "../verification/refusal.ts";

/** For one request, ms and bytes. */
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 65_536;
/** At once, and how many more may wait. */
const AT_A_TIME = 4;
const MOST_WAITING = 32;
/** A URL that was confirmed, or could not be, is not asked again for so long, ms. */
const CONFIRMED_MS = 600_000;
const FAILED_MS = 10_000;
const REMEMBERED = 1_024;

/** Confirms subscriptions by fetching the URL that a signed message names. Such a message has no end: whoever has one may send it again and again. */
export class Confirmations {
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  readonly #places = new Semaphore(AT_A_TIME, MOST_WAITING);
  readonly #flying = new Map<string, Promise<Refusal | undefined>>();
  /** By digest: there is a token in the URL. */
  readonly #known = new BoundedMap<string, { readonly failure: Refusal | undefined; readonly until: number }>(
    REMEMBERED,
  );

  constructor({ fetch, clock }: { readonly fetch: Fetch; readonly clock: Clock }) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /**
   * Fetches the URL, unless that was done a while ago.
   *
   * @param id names it in the refusal, without what is secret in it
   * @returns `undefined` when it is confirmed
   */
  async confirm(url: string, id: string): Promise<Refusal | undefined> {
    const key = sha256Head(Buffer.from(url), 16).toString("base64url");
    const known = this.#known.get(key);
    if (known && this.#clock.monotonic() < known.until) return known.failure;
    const flying = this.#flying.get(key);
    if (flying) return flying;
    const answer = this.#ask(key, url, id).finally(() => this.#flying.delete(key));
    this.#flying.set(key, answer);
    return answer;
  }

  async #ask(key: string, url: string, id: string): Promise<Refusal | undefined> {
    const answer = await this.#places.run(async () => ({ failure: await this.#get(url, id) }));
    if (answer === undefined) return refuse("HandshakeFailed", `${id}: too many confirmations are under way`);
    const until = this.#clock.monotonic() + (answer.failure ? FAILED_MS : CONFIRMED_MS);
    this.#known.set(key, { ...answer, until });
    return answer.failure;
  }

  async #get(url: string, id: string): Promise<Refusal | undefined> {
    try {
      const { status } = await this.#fetch({ url, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
      if (status >= 200 && status < 300) return undefined;
      return refuse("HandshakeFailed", `${id} answered with status ${status}`);
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      return refuse("HandshakeFailed", `${id} could not be asked: ${error.code}`);
    }
  }
}
