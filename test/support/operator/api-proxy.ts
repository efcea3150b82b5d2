import { type ClientRequest, createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request as callTls } from "node:https";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import type { Cluster } from "../control-plane/access.ts";

/** A request that a process makes of the API server. */
export interface Asked {
  readonly method: string;
  /** With its query. */
  readonly path: string;
}

/**
 * A proxy between one process and the API server that can hold requests back, lose what comes from watches, or refuse them. It speaks plain HTTP to the
 * process, and passes credentials and answers on as they are.
 */
export class ApiProxy {
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #target: URL;
  readonly #watches = new Set<ServerResponse>();
  #isHeld: (asked: Asked) => boolean = () => false;
  #release: () => void = () => {};
  #released: Promise<void> = Promise.resolve();
  #isRefused: (asked: Asked) => boolean = () => false;
  /** Requests that are held back at present. */
  readonly held: Asked[] = [];
  /** What the API server answered to those that were held back and released. */
  readonly late: (Asked & { readonly status: number })[] = [];

  constructor(cluster: Cluster) {
    this.#target = new URL(cluster.url);
    this.#agent = new Agent({ keepAlive: true, ca: cluster.ca });
    this.#server = createServer((request, response) => void this.#pass(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  stop(): void {
    this.#release();
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  /** From now on these requests go nowhere until `release`. */
  hold(isMeant: (asked: Asked) => boolean): void {
    this.#isHeld = isMeant;
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  /** Sends on what was held back, whatever has become of who asked, and holds nothing more. */
  release(): void {
    this.#isHeld = () => false;
    this.held.length = 0;
    this.#release();
  }

  /** From now on these requests are answered 503 until the next call. */
  refuse(isMeant: (asked: Asked) => boolean): void {
    this.#isRefused = isMeant;
  }

  /** Breaks the watches that run. @returns how many */
  cutWatches(): number {
    const count = this.#watches.size;
    for (const response of this.#watches) response.destroy();
    return count;
  }

  /** The watches that run say nothing more, and stay open: a half-open connection. @returns how many */
  loseWatches(): number {
    const count = this.#watches.size;
    for (const response of this.#watches) response.emit("lost");
    return count;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = { method: request.method ?? "GET", path: request.url ?? "/" };
    if (this.#isRefused(asked)) {
      response.writeHead(503).end();
      return;
    }
    // Read whole first: the process may be stopped before the request is sent on.
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const isLate = this.#isHeld(asked);
    if (isLate) {
      this.held.push(asked);
      await this.#released;
    }
    this.#send(request, Buffer.concat(body), response).once("response", ({ statusCode: status = 0 }) => {
      if (isLate) this.late.push({ ...asked, status });
    });
  }

  #send(request: IncomingMessage, body: Buffer, response: ServerResponse): ClientRequest {
    const { hostname, port } = this.#target;
    const { host: _, ...headers } = request.headers;
    const options = { hostname, port, method: request.method, path: request.url, headers, agent: this.#agent };
    const upstream = callTls(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      if (request.url?.includes("watch=")) this.#passWatch(answer, response);
      else answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    return upstream.end(body);
  }

  #passWatch(answer: IncomingMessage, response: ServerResponse): void {
    this.#watches.add(response);
    response.on("close", () => this.#watches.delete(response));
    answer.on("error", () => response.destroy());
    answer.pipe(response);
    response.once("lost", () => {
      this.#watches.delete(response);
      answer.unpipe(response);
      answer.pipe(new PassThrough().resume());
    });
  }
}
