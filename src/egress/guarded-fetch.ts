import { Agent } from "undici";
import { errorCode } from "./error-code.ts";
import { EgressGuard } from "./guard.ts";

/** A small request to a host that somebody outside may have named. */
export interface FetchRequest {
  readonly url: string;
  /** Sent as JSON by POST. Absent: a GET. */
  readonly json?: unknown;
  /** `http:` may be asked too: for what proves itself, as a certificate of an authority does. Default: only `https:`. */
  readonly plainHttp?: boolean;
  /** The whole exchange, ms. */
  readonly timeoutMs: number;
  /** Most bytes of the response's body. */
  readonly maxBytes: number;
}

export interface FetchResponse {
  readonly status: number;
  readonly body: Buffer;
}

/** Why there is no response: a code of {@link errorCode}, `invalid_request`, `timeout` or `response_too_large`. */
export class FetchError extends Error {
  readonly code: string;
  constructor(code: string, options?: ErrorOptions) {
    super(`the request failed: ${code}`, options);
    this.name = "FetchError";
    this.code = code;
  }
}

/** @throws FetchError. Every status is a response, redirects too, which are not followed */
export type Fetch = (request: FetchRequest) => Promise<FetchResponse>;

/** What a {@link Fetch} runs on. Closing it ends what is in flight. */
export interface GuardedFetch {
  readonly fetch: Fetch;
  readonly close: () => Promise<void>;
}

const CONNECTIONS = 4;

/** Makes a {@link Fetch} behind the guard. Connections are kept for a few seconds only. */
export function guardedFetch(guard: EgressGuard = new EgressGuard()): GuardedFetch {
  const agent = new Agent({
    connections: CONNECTIONS,
    connect: guard.connector({ timeoutMs: 5_000 }),
    keepAliveTimeout: 4_000,
  });
  return { fetch: (request) => exchange(agent, request), close: () => agent.destroy() };
}

async function exchange(agent: Agent, request: FetchRequest): Promise<FetchResponse> {
  const url = checkedUrl(request);
  const signal = AbortSignal.timeout(request.timeoutMs);
  const body = request.json === undefined ? undefined : JSON.stringify(request.json);
  try {
    const response = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: body === undefined ? "GET" : "POST",
      headers: {
        "user-agent": "davit",
        accept: "*/*",
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body }),
      signal,
    });
    return { status: response.statusCode, body: await bounded(response.body, request.maxBytes) };
  } catch (error) {
    if (error instanceof FetchError) throw error;
    throw new FetchError(signal.aborted ? "timeout" : errorCode(error), { cause: error });
  }
}

function checkedUrl({ url: text, plainHttp = false }: FetchRequest): URL {
  const url = URL.parse(text);
  const scheme = url?.protocol === "https:" || (plainHttp && url?.protocol === "http:");
  if (url === null || !scheme || url.username !== "" || url.password !== "") throw new FetchError("invalid_request");
  return url;
}

async function bounded(body: AsyncIterable<Buffer> & { destroy: () => unknown }, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (size > maxBytes) throw new FetchError("response_too_large");
    pieces.push(piece);
  }
  return Buffer.concat(pieces, size);
}
