import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";

/** What `/readyz` asks. `ok: false` names what is missing in `problems`. */
export interface Readiness {
  readonly ok: boolean;
  readonly problems: readonly string[];
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** Default: plain text. */
  readonly type?: string;
}

/** What a role adds to its admin port. */
export interface AdminOptions {
  /** Before each scrape: gauges that nobody sets at an event. */
  readonly beforeScrape?: () => void;
  /** Further paths, answered with JSON; `undefined`: 404. */
  readonly answer?: (path: string) => Promise<{ readonly status: number; readonly body: object } | undefined>;
}

/**
 * Serves `/metrics`, `/livez` and `/readyz` on a port of their own, away from the public listener.
 * `/livez` says the event loop runs; `/readyz` is 503 with the problems, one a line, until `ready()` is ok.
 */
export function createAdminServer(registry: Registry, ready: () => Readiness, options: AdminOptions = {}): Server {
  const answers: Readonly<Record<string, () => Answer | Promise<Answer>>> = {
    "/livez": () => ({ status: 200, text: "ok\n" }),
    "/readyz": () => {
      const { ok, problems } = ready();
      return ok ? { status: 200, text: "ok\n" } : { status: 503, text: `${problems.join("\n")}\n` };
    },
    "/metrics": async () => {
      options.beforeScrape?.();
      return { status: 200, text: await registry.metrics(), type: registry.contentType };
    },
  };
  const other = async (path: string): Promise<Answer> => {
    const found = await options.answer?.(path);
    if (found === undefined) return { status: 404, text: "not found\n" };
    return { status: found.status, text: `${JSON.stringify(found.body)}\n`, type: "application/json" };
  };
  return createServer((request, response) => {
    const send = ({ status, text, type = "text/plain; charset=utf-8" }: Answer) => {
      response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) });
      response.end(text);
    };
    if (request.method !== "GET" && request.method !== "HEAD")
      return send({ status: 405, text: "method not allowed\n" });
    const path = request.url?.split("?", 1)[0] ?? "";
    const answer = async () => send(await (answers[path]?.() ?? other(path)));
    answer().catch(() => send({ status: 500, text: "no answer could be made\n" }));
  });
}
