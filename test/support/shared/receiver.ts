import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that one receiver has not answered. */
export interface Running {
  readonly event: string;
  readonly attempt: number;
}

/** More requests at a time than the destination's limit. */
export interface Overlap {
  readonly destination: string;
  readonly running: readonly Running[];
}

export interface Receiver {
  readonly url: string;
  readonly overlaps: readonly Overlap[];
  /** Unix ms of each request, by destination. */
  readonly times: ReadonlyMap<string, readonly number[]>;
  /** 2xx given, by destination and event: `~moody <id>`. */
  readonly taken: ReadonlyMap<string, number>;
  /** Kinds of answers given. */
  readonly kinds: ReadonlyMap<string, number>;
  /** While true, everybody gets 500. */
  ill: boolean;
  readonly close: () => void;
}

/** Kinds of answers and how likely they are. All end within 400 ms, half of the exchange's timeout. */
const MOODS: readonly [kind: string, upTo: number][] = [
  ["ok", 0.7],
  ["slow", 0.83],
  ["failing", 0.88],
  ["busy", 0.895],
  ["reset", 0.95],
  ["hanging", 1],
];

/** Receivers of mixed temper that count how many requests they have at a time. */
export async function startReceiver(limits: ReadonlyMap<string, number>, random: () => number): Promise<Receiver> {
  const active = new Map<string, Set<Running>>();
  const overlaps: Overlap[] = [];
  const times = new Map<string, number[]>();
  const taken = new Map<string, number>();
  const kinds = new Map<string, number>();

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const destination = `~${request.url?.slice(1)}`;
    const event = String(request.headers["webhook-id"]);
    const one = { event, attempt: Number(request.headers["davit-attempt"]) };
    const running = active.get(destination) ?? new Set();
    active.set(destination, running.add(one));
    times.set(destination, [...(times.get(destination) ?? []), Date.now()]);
    if (running.size > (limits.get(destination) ?? 0)) overlaps.push({ destination, running: [...running] });
    // It is over before the sender can know it: at its answer, when it is dropped, or when the sender is gone.
    const end = (then: () => void): void => {
      running.delete(one);
      then();
    };
    response.once("close", () => running.delete(one));
    const kind = receiver.ill ? "failing" : moodOf(destination, random());
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const answer = (status: number, headers = {}) => {
      if (status === 200) taken.set(`${destination} ${event}`, (taken.get(`${destination} ${event}`) ?? 0) + 1);
      end(() => response.writeHead(status, headers).end());
    };
    if (kind === "ok") answer(200);
    else if (kind === "slow") setTimeout(answer, 50 + random() * 300, 200);
    else if (kind === "failing") answer(500);
    else if (kind === "busy") answer(429, { "retry-after": "1" });
    else setTimeout(() => end(() => request.socket.destroy()), kind === "reset" ? 5 : 400);
  };

  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => serve(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    overlaps,
    times,
    taken,
    kinds,
    ill: false,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}

function moodOf(destination: string, drawn: number): string {
  if (destination !== "~moody") return "ok";
  return MOODS.find(([, upTo]) => drawn < upTo)?.[0] ?? "ok";
}
