import { once } from "node:events";
import { type IncomingHttpHeaders, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import type { CustodyHealth, Inbox } from "../../custody/port.ts";
import type { FetchRequest } from "../../egress/guarded-fetch.ts";
import { createGateway, type Gateway } from "../../gateway/server.ts";
import { monotonicUlids } from "../../lib/ulid.ts";
import { silentLogger } from "../../observability/logger.ts";
import { createMetrics } from "../../observability/metrics.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { parseJson, valueAt } from "../../lib/json-source.ts";
import type { SignatureCase } from "../../verification/vectors.ts";
import { handshakeRoute } from "./handshake-route.ts";
import { caseMaterial } from "./case-material.ts";

/** A recorded handshake: a request of a provider, and what it takes for the right answer. */
export interface Handshake {
  readonly provider: string;
  readonly scheme: string;
  /** `null`: the route has no key. */
  readonly secret: SignatureCase["secret"] | null;
  readonly request: {
    readonly method: string;
    /** Path and query. */
    readonly path: string;
    readonly headers?: Readonly<Record<string, string | readonly string[]>>;
    readonly bodyBase64?: string;
    /** Unix seconds; absent: this machine's clock. */
    readonly now?: number;
    readonly url?: string;
  };
  readonly response: {
    readonly status: number;
    readonly contentType?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly bodyOneOf?: readonly string[];
    readonly json?: unknown;
  };
  /** `certPem`, and what the route's parameters are called. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly note?: string;
}

/** What the gateway answered and did. */
export interface Recorded {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Events that were accepted. */
  readonly enqueued: number;
  /** The URL in the body that should have been asked for and was not. */
  readonly unconfirmed: string | undefined;
}

const HEALTHY: CustodyHealth = {
  up: true,
  durable: { ok: true, source: "volatile", problems: [] },
  memoryRatio: 0,
  clockOffsetMs: 0,
};

/**
 * Sends a recorded request to a gateway of its own on a loopback port. Of the gateway only the store and the network behind it are stood in for.
 *
 * @throws CommandError when no route can be made of the case
 */
export async function replay(recorded: Handshake): Promise<Recorded> {
  const now = recorded.request.now === undefined ? Date.now() : recorded.request.now * 1_000;
  const entry = handshakeRoute(recorded, now);
  const store = new StandIn();
  const asked: string[] = [];
  const gateway = gatewayOf(recorded, entry, { store, asked, now });
  try {
    gateway.server.listen(0, "127.0.0.1");
    await once(gateway.server, "listening");
    const { port } = gateway.server.address() as AddressInfo;
    const answer = await post(port, entry, recorded);
    return { ...answer, enqueued: store.claimed, unconfirmed: unconfirmed(recorded, answer.status, asked) };
  } finally {
    await gateway.close(0);
  }
}

function gatewayOf(
  recorded: Handshake,
  entry: RouteEntry,
  { store, asked, now }: { readonly store: Inbox; readonly asked: string[]; readonly now: number },
): Gateway {
  const fetch = ({ url }: FetchRequest) => {
    asked.push(url);
    return Promise.resolve({ status: 200, body: Buffer.alloc(0) });
  };
  return createGateway({
    table: { lookup: () => entry },
    inboxFor: () => store,
    health: () => HEALTHY,
    clock: { now: () => now, monotonic: () => performance.now() },
    metrics: createMetrics(),
    logger: silentLogger,
    fetch,
    material: caseMaterial(() => ({ secret: recorded.secret ?? "", ...(recorded.extra && { extra: recorded.extra }) })),
  });
}

/** Stands in for the store: nothing of a replay is kept. */
class StandIn implements Inbox {
  readonly #nextId = monotonicUlids();
  claimed = 0;

  claim(): ReturnType<Inbox["claim"]> {
    this.claimed += 1;
    return Promise.resolve({ outcome: "new", id: this.#nextId(Date.now()) });
  }

  reject(): void {
    // A trace that nobody will read.
  }

  keep(): Promise<void> {
    return Promise.resolve();
  }
}

async function post(
  port: number,
  { host }: RouteEntry,
  { request: { method, path, headers = {}, bodyBase64 = "" } }: Handshake,
): Promise<Pick<Recorded, "status" | "headers" | "body">> {
  const body = Buffer.from(bodyBase64, "base64");
  const lengths = body.length > 0 || method === "POST" ? { "content-length": body.length } : {};
  const sent = httpRequest({
    host: "127.0.0.1",
    port,
    method,
    path,
    headers: { host, ...lengths, ...(headers as Record<string, string>) },
    agent: false,
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [AsyncIterable<Buffer> & IncomingResponse];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece);
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
    body: Buffer.concat(pieces).toString("utf8"),
  };
}

interface IncomingResponse {
  readonly statusCode?: number;
  readonly headers: IncomingHttpHeaders;
}

/** The `SubscribeURL` of a confirmation that was answered with 2xx, when nobody has asked for it. */
function unconfirmed({ request }: Handshake, status: number, asked: readonly string[]): string | undefined {
  const parsed = parseJson(Buffer.from(request.bodyBase64 ?? "", "base64"));
  if (!parsed.ok || status >= 300 || valueAt(parsed.value, ["Type"]) !== "SubscriptionConfirmation") return undefined;
  const url = valueAt(parsed.value, ["SubscribeURL"]);
  return typeof url !== "string" || asked.includes(url) ? undefined : "SubscribeURL";
}
