import type { IncomingMessage } from "node:http";

/** How the reading of a body ended. `aborted`: the connection went before its end. */
export type BodyResult = Buffer | "tooLarge" | "aborted";

const EMPTY = Buffer.alloc(0);

/**
 * Reads a body of at most `limit` bytes and calls `done` once. Nothing is allocated by what `Content-Length` promises, and a body that came
 * in one piece is not copied. After `tooLarge` the request is paused; the caller ends it.
 */
export function readBody(request: IncomingMessage, limit: number, done: (result: BodyResult) => void): void {
  let first: Buffer | undefined;
  let pieces: Buffer[] | undefined;
  let size = 0;
  let finished = false;
  const finish = (result: BodyResult) => {
    if (finished) return;
    finished = true;
    done(result);
  };
  request.on("data", (piece: Buffer) => {
    if (finished) return;
    size += piece.length;
    if (size > limit) {
      request.pause();
      finish("tooLarge");
    } else if (first === undefined) first = piece;
    else (pieces ??= [first]).push(piece);
  });
  request.on("end", () => finish(pieces ? Buffer.concat(pieces, size) : (first ?? EMPTY)));
  request.on("close", () => finish("aborted"));
}

/** The length the sender promises, or `undefined` for a chunked body. Node refuses what is no number, or both at once. */
export function declaredLength(request: Pick<IncomingMessage, "headers">): number | undefined {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (length !== undefined) return Number(length);
  return encoding === undefined ? 0 : undefined;
}
