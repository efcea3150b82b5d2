import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { answerUnread } from "../lib/unread-body.ts";
import type { Refusal } from "./refusals.ts";

/** Seconds in the `Retry-After` of a 503 whose reason has none of its own. */
const RETRY_AFTER_S = 5;

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
  answerUnread(request, response, { status, headers, body: refusal.body });
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
