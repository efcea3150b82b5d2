import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Mixed, TemperName } from "./settings.ts";

/** A request that a receiver got. */
export interface Request {
  readonly destination: string;
  readonly event: string;
  readonly attempt: number;
  /** Unix ms. */
  readonly at: number;
  /** Status that went out, also of an answer that was cut. */
  status?: number;
  /** The sender left before it was answered. */
  dropped?: true;
}

/** More requests at a time than the destination's limit. */
export interface Overlap {
  readonly destination: string;
  readonly running: readonly Request[];
}

export interface Receivers {
  /** By destination. */
  readonly urls: ReadonlyMap<string, string>;
  readonly requests: readonly Request[];
  readonly overlaps: readonly Overlap[];
  /** While true, those that can recover have not. */
  ill: boolean;
  /** Everybody is well, also those that never were. */
  allWell: boolean;
  readonly close: () => void;
}

/** What an answer is made from. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly random: () => number;
  readonly ill: boolean;
  /** How many requests this receiver has had. */
  readonly n: number;
  /** A status goes out, and the request goes on. */
  readonly begun: (status: number) => void;
  /** To be called when it is over for the receiver, before the sender can know that. */
  readonly over: (status?: number) => void;
}

/** A sender that leaves frees its place this much later than it left, ms: until then what comes instead is no overlap. */
const LEAVING_MS = 50;
const JUNK = ["0", "-1", "1.5", "120junk", "1e9", "0x10", "", "soon", "Mon, 30 Feb 2026 00:00:00 GMT"];

function answer({ response, over }: Exchange, status: number, headers: Record<string, string> = {}): void {
  over(status);
  response.writeHead(status, headers).end(`{"status":${status}}`);
}

const hint = (exchange: Exchange, value: string): void =>
  answer(exchange, exchange.n % 2 === 0 ? 429 : 503, { "retry-after": value });

const inMs = (ms: number): string => new Date(Date.now() + ms).toUTCString();

function reset({ request, over }: Exchange): void {
  over();
  request.socket.resetAndDestroy();
}

/** A promise of more than comes, by length or by chunks. */
function cut({ response, over, n }: Exchange): void {
  over(200);
  response.writeHead(200, n % 2 === 0 ? { "content-length": "100" } : {});
  response.write("some of it", () => response.destroy());
}

/** More than promised, and it looks like another answer. */
function tooMuch({ request, over }: Exchange): void {
  over(200);
  request.socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n");
}

/** Without an end: only the sender can end it. */
function flood({ response, begun }: Exchange): void {
  begun(200);
  const pour = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(16_384, "x")));
  };
  response.writeHead(200);
  response.on("drain", pour);
  pour();
}

function drip({ response, begun }: Exchange): void {
  begun(200);
  response.writeHead(200);
  const dripping = setInterval(() => response.write("."), 100);
  response.once("close", () => clearInterval(dripping));
}

const later = (exchange: Exchange, ms: number, status: number): void =>
  void setTimeout(() => answer(exchange, status), ms);

/** What each does when it does not simply take the message. `undefined`: now it does. */
const TEMPER: Readonly<Record<TemperName, (exchange: Exchange) => ((exchange: Exchange) => void) | undefined>> = {
  fast: () => undefined,
  slow:
    ({ random }) =>
    (exchange) =>
      later(exchange, 100 + random() * 300, 200),
  busySeconds: ({ random }) => (random() < 0.25 ? (exchange) => hint(exchange, "1") : undefined),
  busyDates: ({ random }) => {
    const drawn = random();
    if (drawn < 0.15) return (exchange) => hint(exchange, inMs(2_000));
    return drawn < 0.4 ? (exchange) => hint(exchange, inMs(-60_000)) : undefined;
  },
  junkHints: ({ ill }) => (ill ? (exchange) => hint(exchange, JUNK[exchange.n % JUNK.length] ?? "") : undefined),
  resetting: ({ random }) => (random() < 0.4 ? reset : undefined),
  cutting: ({ random }) => (random() < 0.4 ? cut : undefined),
  saysTooMuch: () => tooMuch,
  flooding: () => flood,
  dripping: ({ ill, random }) => (ill && random() < 0.5 ? drip : undefined),
  hanging: ({ ill }) => (ill ? () => undefined : undefined),
  failing: ({ ill }) => (ill ? (exchange) => answer(exchange, 500 + (exchange.n % 5)) : undefined),
  neverWell: () => (exchange) => answer(exchange, 500),
  alwaysBusy: () => (exchange) => hint(exchange, "1"),
  alwaysHanging: () => () => undefined,
  refusing: () => (exchange) => answer(exchange, 404),
  gone: () => (exchange) => answer(exchange, 410),
  farFuture: () => (exchange) =>
    hint(exchange, exchange.n % 2 === 0 ? "Fri, 31 Dec 9999 23:59:59 GMT" : "99999999999999"),
};

/** A server for each destination, all in this process, that count how many requests they have at a time. */
export async function startReceivers(destinations: readonly Mixed[], random: () => number): Promise<Receivers> {
  const requests: Request[] = [];
  const overlaps: Overlap[] = [];
  const servers: Server[] = [];
  const urls = new Map<string, string>();

  const serverOf = ({ id, temper, limit }: Mixed): Server => {
    const running = new Set<Request>();
    let n = 0;
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      const one: Request = {
        destination: id,
        event: String(request.headers["webhook-id"]),
        attempt: Number(request.headers["davit-attempt"]),
        at: Date.now(),
      };
      n += 1;
      requests.push(one);
      running.add(one);
      if (running.size > limit) noteOverlap({ destination: id, running: [...running] }, limit);
      const begun = (status: number): void => void (one.status = status);
      const over = (status?: number): void => {
        running.delete(one);
        if (status !== undefined) begun(status);
      };
      response.once("close", () => {
        if (running.delete(one)) one.dropped = true;
      });
      const exchange = { request, response, random, ill: receivers.ill, n, begun, over };
      const other = receivers.allWell ? undefined : TEMPER[temper](exchange);
      if (other === undefined) answer(exchange, 200);
      else other(exchange);
    };
    return createServer((request, response) => {
      request.resume();
      request.once("end", () => serve(request, response));
    });
  };

  const noteOverlap = (overlap: Overlap, limit: number): void => {
    setTimeout(() => {
      const left = overlap.running.filter(({ dropped }) => dropped !== true);
      if (left.length > limit) overlaps.push({ ...overlap, running: left });
    }, LEAVING_MS);
  };

  const receivers: Receivers = {
    urls,
    requests,
    overlaps,
    ill: true,
    allWell: false,
    close: () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
  for (const destination of destinations) {
    const server = serverOf(destination);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    urls.set(destination.id, `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
  }
  return receivers;
}
