import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { fieldOf } from "../../lib/record.ts";
import type { DestinationEntry, RouteEntry } from "../../routes/entry.ts";

/** Field of a demonstration event's body by which the receiver knows how to answer it. */
export const TAG_FIELD = "davit_demonstration";

/** One answer of the receiver. */
export interface ScriptedAnswer {
  readonly status: number;
  /** Seconds in `Retry-After`. */
  readonly retryAfter?: number;
}

interface Script {
  readonly answers: readonly ScriptedAnswer[];
  /** What follows the answers. */
  after: number;
  /** Requests so far, by path: each destination of a route goes through the answers. */
  readonly seen: Map<string, number>;
}

/** Stands in for every destination of the demonstration. Events without a script are answered 200. */
export class Receiver {
  readonly #scripts = new Map<string, Script>();
  readonly #server: Server = createServer((request, response) => {
    // A sender that goes away in the middle needs no answer.
    this.#answer(request, response).catch(() => response.destroy());
  });

  /** Listens on a free port of loopback. @returns its base URL */
  async start(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Answers events with this tag so: first `answers`, then always `after`. */
  script(tag: string, answers: readonly ScriptedAnswer[], after = 200): void {
    this.#scripts.set(tag, { answers, after, seen: new Map() });
  }

  /** From now on all is well with events of this tag. */
  heal(tag: string): void {
    const script = this.#scripts.get(tag);
    if (script) script.after = 200;
  }

  /** Requests received with this tag. */
  received(tag: string): number {
    return [...(this.#scripts.get(tag)?.seen.values() ?? [])].reduce((sum, count) => sum + count, 0);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { status, retryAfter } = this.#next(tagOf(Buffer.concat(chunks)), request.url ?? "");
    response.writeHead(status, {
      "content-type": "text/plain",
      ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    });
    response.end(status < 300 ? "received\n" : "not now\n");
  }

  #next(tag: string, path: string): ScriptedAnswer {
    const script = this.#scripts.get(tag);
    if (script === undefined) return { status: 200 };
    const count = script.seen.get(path) ?? 0;
    script.seen.set(path, count + 1);
    return script.answers[count] ?? { status: script.after };
  }
}

function tagOf(body: Buffer): string {
  try {
    const tag = fieldOf(JSON.parse(body.toString()), TAG_FIELD);
    return typeof tag === "string" ? tag : "";
  } catch {
    return "";
  }
}

/** The same route with all its HTTP destinations pointed at the receiver. */
export function redirected(entry: RouteEntry, receiver: string): RouteEntry {
  const to = (name: string) => `${receiver}/${entry.namespace}/${entry.name}/${name}`;
  return {
    ...entry,
    destinations: entry.destinations.map((destination) =>
      destination.target.type === "http"
        ? { ...destination, target: { type: "http", url: to(destination.name) } }
        : destination,
    ),
  };
}

/** The same WebhookDestination, pointed at the receiver. */
export function redirectedShared(entry: DestinationEntry, namespace: string, receiver: string): DestinationEntry {
  return {
    ...entry,
    target: { type: "http", url: `${receiver}/${namespace}/~/${entry.name}` },
    allowInsecureHttp: true,
  };
}
