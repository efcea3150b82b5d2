import type { Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

interface CodedError extends Error {
  readonly code?: string;
}

const STATUS_LINES: ReadonlyMap<string, string> = new Map([
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", "413 Payload Too Large"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"],
]);

/**
 * Answers what Node's parser refuses before there is a request: 400, 431 or 408, then the connection ends. When an earlier request of the connection is
 * still waiting for its answer, that answer goes out first: it may be the acknowledgement of a stored event.
 *
 * @returns to be called with each response, so that the last one of a connection is known
 */
export function answerConnectionErrors(server: Server): (response: ServerResponse) => void {
  const last = new WeakMap<Duplex, ServerResponse>();
  server.on("clientError", (error: CodedError, socket: Duplex) => {
    const open = last.get(socket);
    if (open && isAwaited(open)) {
      open.once("close", () => socket.destroy());
      return;
    }
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(rawAnswer(STATUS_LINES.get(error.code ?? "") ?? "400 Bad Request"), () => socket.destroy());
  });
  return (response) => {
    if (response.socket) last.set(response.socket, response);
  };
}

/** Its request was read to the end, or it has begun to answer: nothing else may be written before it has finished. */
function isAwaited(response: ServerResponse): boolean {
  return !response.writableFinished && (response.req.complete || response.headersSent);
}

function rawAnswer(statusLine: string): string {
  const body = JSON.stringify({ error: "BadRequest", message: "the request could not be read as HTTP/1.1" });
  const head = ["Connection: close", "Content-Type: application/json", `Content-Length: ${body.length}`];
  return [`HTTP/1.1 ${statusLine}`, ...head, "", body].join("\r\n");
}
