import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { declaredLength } from "./body.ts";
import type { Refusal } from "./refusals.ts";

/** What is still read and thrown away after a refusal, so that the sender sees the answer instead of a reset connection. */
const LINGER_BYTES = 1_048_576;
const LINGER_MS = 1_000;

/** Seconds in the `Retry-After` of a 503 whose reason has none of its own. */
const RETRY_AFTER_S = 5;

/** Unread bodies up to this size are read to their end, and the connection is kept. */
const KEEP_ALIVE_BYTES = 65_536;

/** What an answer needs of a refusal, whichever listener it is of. */
export type WrittenRefusal = Omit<Refusal, "reason"> & { readonly reason: string };

/** Writes a whole answer at once. */
export function send(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Buffer | string,
): void {
  response.writeHead(status, headers);
  response.end(body);
}

/** Extra headers and the status of a refusal, where they differ from the reason's own. */
export interface RefusalDetails {
  readonly status?: number | undefined;
  readonly retryAfter?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Answers with a refusal. A body that has not been read and may be large is not drained: the answer goes out, a bounded rest is thrown away, and the
 * connection is closed.
 */
export function sendRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: WrittenRefusal,
  details: RefusalDetails = {},
): void {
  if (response.headersSent) {
    request.destroy();
    return;
  }
  const status = details.status ?? refusal.status;
  const headers = refusalHeaders(refusal, details, status);
  if (request.complete || (declaredLength(request) ?? Number.POSITIVE_INFINITY) <= KEEP_ALIVE_BYTES) {
    send(response, status, headers, refusal.body);
    return;
  }
  response.writeHead(status, { ...headers, connection: "close" });
  if (request.method !== "HEAD") response.write(refusal.body);
  linger(request, response);
}

function refusalHeaders(refusal: WrittenRefusal, details: RefusalDetails, status: number): OutgoingHttpHeaders {
  // Whatever reason a preset answers with 503: a sender that is told to come again is told when.
  const retryAfter = details.retryAfter ?? refusal.retryAfter ?? (status === 503 ? RETRY_AFTER_S : undefined);
  return {
    "content-type": "application/json",
    "content-length": refusal.body.length,
    ...details.headers,
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  };
}

function linger(request: IncomingMessage, response: ServerResponse): void {
  let thrownAway = 0;
  let closed = false;
  const close = () => {
    if (closed) return;
    closed = true;
    clearTimeout(timer);
    request.pause();
    // Only then: an earlier request of the connection may still wait for its answer, which goes out before this one.
    response.end(() => request.socket.destroySoon());
  };
  const timer = setTimeout(close, LINGER_MS);
  request.on("data", (piece: Buffer) => {
    thrownAway += piece.length;
    if (thrownAway > LINGER_BYTES) close();
  });
  request.on("close", close);
  request.on("end", close);
  request.resume();
}
