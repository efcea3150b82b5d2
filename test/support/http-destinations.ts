import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, vi } from "vitest";
import type { SendResult } from "../../src/egress/exchange.ts";
import type { HttpSender, HttpSenderOptions, OutgoingRequest } from "../../src/egress/http-sender.ts";
import { loopbackSender } from "./loopback-sender.ts";

type Closeable = Server & { closeAllConnections?: () => void };

/** A server on which every byte that arrives is seen. */
export interface RawServer {
  readonly origin: string;
  readonly port: number;
  readonly bytes: () => number;
  readonly sockets: Socket[];
}

/** Destinations and senders of a test file, on loopback. What a test made ends with it. */
export function destinations() {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function listen(server: Closeable): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => {
      server.closeAllConnections?.();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  async function serve(handler: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
    return `http://127.0.0.1:${await listen(createServer((request, response) => void handler(request, response)))}`;
  }

  async function serveRaw(onSocket: (socket: Socket) => void): Promise<RawServer> {
    let bytes = 0;
    const sockets: Socket[] = [];
    const server = createTcpServer((socket) => {
      sockets.push(socket);
      cleanups.push(() => socket.destroy());
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => (bytes += chunk.length));
      onSocket(socket);
    });
    const port = await listen(server);
    return { origin: `http://127.0.0.1:${port}`, port, bytes: () => bytes, sockets };
  }

  function createSender(options: HttpSenderOptions = {}): HttpSender {
    const sender = loopbackSender(options);
    cleanups.push(() => sender.close());
    return sender;
  }

  return { listen, serve, serveRaw, createSender };
}

export const post = (origin: string, overrides: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  origin,
  path: "/hook?x=1",
  method: "POST",
  headers: ["content-type", "application/json"],
  body: Buffer.from('{"a":1}'),
  timeoutMs: 5_000,
  ...overrides,
});

export const statusOf = (result: SendResult): number | undefined =>
  result.type === "response" ? result.status : undefined;
export const codeOf = (result: SendResult): string | undefined => (result.type === "error" ? result.code : undefined);

/** Waits for what must come about, with patience for a busy machine. */
export const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 5 });

export async function readBody(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}
