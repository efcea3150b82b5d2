import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";

/** A small egress proxy on loopback: CONNECT, and nothing else. */
export class ConnectProxy {
  /** What it was asked to connect to, in order. */
  readonly asked: string[] = [];
  /** Headers of the last CONNECT. */
  headers: IncomingMessage["headers"] = {};
  /** Where tunnels lead; default: where they were asked to. */
  route: (authority: string) => { readonly host: string; readonly port: number } = parse;
  /** Bytes it answers in place of a tunnel; none: it is silent. */
  answer: string | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((_request, response) => response.writeHead(405).end());
    this.#server.on("connect", (request: IncomingMessage, socket: Socket) => this.#onConnect(request, socket));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #onConnect(request: IncomingMessage, socket: Socket): void {
    const authority = request.url ?? "";
    this.asked.push(authority);
    this.headers = request.headers;
    this.#keep(socket);
    if (this.answer === "") return;
    if (this.answer !== undefined) return void socket.end(this.answer);
    const { host, port } = this.route(authority);
    const upstream = connect({ host, port }, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(upstream).pipe(socket);
    });
    this.#keep(upstream);
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

function parse(authority: string): { host: string; port: number } {
  const colon = authority.lastIndexOf(":");
  return { host: authority.slice(0, colon), port: Number(authority.slice(colon + 1)) };
}
