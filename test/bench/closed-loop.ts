import { connect, type Socket } from "node:net";

/** What a run of the load generator saw. */
export interface LoadResult {
  readonly seconds: number;
  /** Answers with a status outside 200–299. */
  readonly failed: number;
  /** ms from the write of a request to the end of its answer, sorted. */
  readonly latencies: Float64Array;
}

interface Answer {
  readonly status: number;
  /** Bytes of the whole answer. */
  readonly length: number;
}

/**
 * The first complete answer in the bytes, or undefined. It knows what the servers of the bench send: a status line,
 * a `Content-Length` or none (204), no chunks.
 */
export function parseAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end);
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error("the load generator reads no chunked answers");
  const length = end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  return bytes.length < length ? undefined : { status: Number(head.slice(9, 12)), length };
}

/**
 * Sends all requests over keep-alive connections, one at a time on each, as fast as they are answered.
 * Plain sockets and ready-made bytes: it must cost much less than the server under test.
 */
export async function closedLoop(port: number, requests: readonly Buffer[], connections: number): Promise<LoadResult> {
  const latencies = new Float64Array(requests.length);
  let sent = 0;
  let failed = 0;
  const run = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let rest: Buffer = Buffer.alloc(0);
      let index = 0;
      let writtenAt = 0;
      const next = () => {
        const request = requests[sent];
        if (request === undefined) {
          socket.destroy();
          return resolve();
        }
        index = sent++;
        writtenAt = performance.now();
        socket.write(request);
      };
      socket.on("data", (chunk) => {
        rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
        const answer = parseAnswer(rest);
        if (answer === undefined) return;
        rest = rest.subarray(answer.length);
        latencies[index] = performance.now() - writtenAt;
        if (answer.status < 200 || answer.status > 299) failed++;
        next();
      });
      socket.once("error", reject);
      socket.once("close", () => reject(new Error("the server closed a connection in the middle of the run")));
      next();
    });
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(port)));
  const startedAt = performance.now();
  await Promise.all(sockets.map(run));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { seconds, failed, latencies: latencies.toSorted() };
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
