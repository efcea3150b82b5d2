import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";

/** What `/readyz` asks. `ok: false` names what is missing in `problems`. */
export interface Readiness {
  readonly ok: boolean;
  readonly problems: readonly string[];
}

/**
 * Serves `/metrics`, `/livez` and `/readyz` on a port of their own, away from the public listener.
 * `/livez` says the event loop runs; `/readyz` is 503 with the problems, one a line, until `ready()` is ok.
 */
export function createAdminServer(registry: Registry, ready: () => Readiness): Server {
  return createServer((request, response) => {
    const answer = (status: number, body: string, type = "text/plain; charset=utf-8") => {
      response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
      response.end(body);
    };
    if (request.method !== "GET" && request.method !== "HEAD") return answer(405, "method not allowed\n");
    switch (request.url?.split("?", 1)[0]) {
      case "/livez":
        return answer(200, "ok\n");
      case "/readyz": {
        const state = ready();
        return answer(state.ok ? 200 : 503, state.ok ? "ok\n" : `${state.problems.join("\n")}\n`);
      }
      case "/metrics":
        return void registry.metrics().then(
          (text) => answer(200, text, registry.contentType),
          () => answer(500, "metrics could not be collected\n"),
        );
      default:
        return answer(404, "not found\n");
    }
  });
}
