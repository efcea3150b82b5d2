import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as a destination got it. */
export interface Received {
  readonly path: string;
  readonly id: string;
}

/** A destination that keeps what it gets, and answers when it is told to. */
export class Receiver {
  readonly received: Received[] = [];
  readonly #server: Server;
  /** Answers wait for this. */
  hold: Promise<unknown> = Promise.resolve();

  constructor() {
    this.#server = createServer((request, response) => {
      request.resume();
      request.once("end", () => {
        this.received.push({ path: request.url ?? "", id: idOf(request) });
        void this.hold.then(() => response.end("ok"));
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Paths that got a request, in order. */
  get paths(): readonly string[] {
    return this.received.map(({ path }) => path);
  }
}

function idOf(request: IncomingMessage): string {
  return String(request.headers["webhook-id"] ?? "");
}
