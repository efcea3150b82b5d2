import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { declaredLength } from "./request-body.ts";

/** What is still read and thrown away after a refusal, so that the sender sees the answer instead of a reset connection. */
const LINGER_BYTES = 1_048_576;
const LINGER_MS = 1_000;

/** Unread bodies up to this size are read to their end, and the connection is kept. */
const KEEP_ALIVE_BYTES = 65_536;

/**
 * Answers a request whose body may not have been read. One that may be large is not drained: the answer goes out, a bounded rest is thrown away, and the
 * connection is closed.
 */
export function answerUnread(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: { readonly status: number; readonly headers: OutgoingHttpHeaders; readonly body: Buffer },
): void {
  if (request.complete || (declaredLength(request) ?? Number.POSITIVE_INFINITY) <= KEEP_ALIVE_BYTES) {
    response.writeHead(status, headers);
    response.end(body);
    return;
  }
  response.writeHead(status, { ...headers, connection: "close" });
  if (request.method !== "HEAD") response.write(body);
  linger(request, response);
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
