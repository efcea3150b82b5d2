import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";

/** One request to a route. */
export interface Posting {
  readonly url: string;
  readonly host: string;
  readonly path: string;
  /** Signs `X-Signature`, SHA-256 in hex over the body; absent: no signature. */
  readonly key?: string | undefined;
  readonly dispatcher?: Agent | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a gateway answered; `id` of the event when there is one. */
export interface Posted {
  readonly status: number;
  readonly id: string | undefined;
}

/** Keeps connections for who has no agent of their own. */
const shared = new Agent({ connections: 16 });

/** Posts an event with a body of its own. */
export async function postEvent({ url, host, path, key, dispatcher = shared, headers = {} }: Posting): Promise<Posted> {
  const body = JSON.stringify({ id: randomUUID() });
  const signature = key === undefined ? {} : { "x-signature": sign(body, key) };
  const answer = await request(`${url}${path}`, {
    method: "POST",
    headers: { host, "content-type": "application/json", ...signature, ...headers },
    body,
    dispatcher,
  });
  const text = await answer.body.text();
  const { id } = answer.statusCode < 300 && text !== "" ? (JSON.parse(text) as { id?: string }) : {};
  return { status: answer.statusCode, id };
}

function sign(body: string, key: string): string {
  return createHmac("sha256", key).update(body).digest("hex");
}

const TICK_MS = 10;

export interface SendersOptions {
  readonly host: string;
  readonly path: string;
  readonly key?: string | undefined;
  /** Requests a second, whether or not earlier ones are answered. */
  readonly rate: number;
  /** Requests that wait for an answer at most: beyond it senders are slower than the rate. Default: no limit. */
  readonly maxInFlight?: number;
  /** Base URLs of gateways that take new requests at present, as a Service would know them. */
  readonly targets: () => readonly string[];
}

/** Senders that post signed events at a rate, in turn to whatever targets there are. */
export class Senders {
  readonly #agent = new Agent({ connections: 64, pipelining: 1 });
  readonly #options: SendersOptions;
  readonly #running: Promise<void>;
  readonly #inFlight = new Set<Promise<void>>();
  /** Ids of accepted events. */
  readonly accepted = new Set<string>();
  /** What came of requests: by status, or by the error's code. */
  readonly outcomes: Record<string, number> = {};
  #sent = 0;
  #isStopped = false;

  constructor(options: SendersOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Requests sent so far. */
  get sent(): number {
    return this.#sent;
  }

  /** Ends, and waits for the last answers; may be called again. @returns outcomes other than 2xx */
  async stop(): Promise<Record<string, number>> {
    this.#isStopped = true;
    await this.#running;
    await Promise.all(this.#inFlight);
    if (!this.#agent.closed) await this.#agent.close();
    return Object.fromEntries(Object.entries(this.outcomes).filter(([outcome]) => !outcome.startsWith("2")));
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    const { maxInFlight = Number.POSITIVE_INFINITY } = this.#options;
    for (; !this.#isStopped; await sleep(TICK_MS)) {
      const due = Math.floor(((performance.now() - startedAt) * this.#options.rate) / 1_000);
      while (this.#sent < due && this.#inFlight.size < maxInFlight) {
        const sending = this.#send(this.#sent++).finally(() => this.#inFlight.delete(sending));
        this.#inFlight.add(sending);
      }
    }
  }

  async #send(turn: number): Promise<void> {
    const { targets, host, path, key } = this.#options;
    const urls = targets();
    const url = urls[turn % urls.length];
    const outcome = await (url === undefined ? Promise.resolve("no target") : this.#post({ url, host, path, key }));
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1;
  }

  async #post(posting: Posting): Promise<string> {
    try {
      const { status, id } = await postEvent({ ...posting, dispatcher: this.#agent });
      if (id !== undefined) this.accepted.add(id);
      return String(status);
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code ?? error);
    }
  }
}

/** Senders at the same time of {@link postMany}. */
const AT_ONCE = 32;

/** Posts so many events. @returns ids of the events, in no order. @throws Error for an answer other than 202 */
export async function postMany(count: number, post: () => Promise<Posted>): Promise<string[]> {
  const ids: string[] = [];
  let left = count;
  const sender = async () => {
    while (left-- > 0) {
      const { status, id } = await post();
      if (status !== 202 || id === undefined) throw new Error(`the gateway answered ${status}`);
      ids.push(id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  return ids;
}
