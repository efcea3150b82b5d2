import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import type { Caller } from "../kube/access.ts";
import { answerConnectionErrors } from "../lib/connection-errors.ts";
import { closeServer, SERVER_OPTIONS } from "../lib/http-server.ts";
import { answerUnread } from "../lib/unread-body.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Answer, Endpoint } from "./endpoint.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { Handler, type HandlerOptions } from "./handler.ts";
import { InFlight } from "./in-flight.ts";
import { Refused } from "./refusals.ts";

/** What a listener of the console needs. */
export interface ListenerOptions<C extends Caller> extends HandlerOptions<C> {
  readonly endpoints: readonly Endpoint<C>[];
  readonly metrics: Pick<Metrics, "apiRequests">;
  /** ms from a request to the end of its answer; then its connection is cut. Default: {@link WITHIN_MS}. */
  readonly withinMs?: number;
}

/** Whoever does not read their answer gives their place back after this, ms. */
const WITHIN_MS = 120_000;

/** A listener of the console. */
export interface Console {
  /** Not listening yet. */
  readonly server: Server;
  /** Requests are still taken, and their connections closed. */
  drain(): void;
  /** Stops listening, finishes what is in flight, then cuts whatever is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Of every answer: JSON for programs, kept nowhere, and nothing that a browser may show, run or lend to another page. */
const HEADERS = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
} as const;

/** Makes the listener of operators: the operations API, with the rights that `access` knows. */
export function createConsole(options: Omit<ListenerOptions<Caller>, "endpoints">): Console {
  return createListener({ ...options, endpoints: ENDPOINTS });
}

/** Makes a listener that serves these endpoints and nothing else. */
export function createListener<C extends Caller>(options: ListenerOptions<C>): Console {
  const inFlight = new InFlight();
  const app = appOf(options, inFlight);
  const { withinMs = WITHIN_MS } = options;
  const server = createServer(SERVER_OPTIONS);
  const seen = answerConnectionErrors(server);
  let draining = false;
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    seen(response);
    if (draining) response.shouldKeepAlive = false;
    const leave = inFlight.enter();
    if (leave === undefined) {
      answer(request, response, new Refused("TooManyInFlight"));
      return;
    }
    const cut = setTimeout(() => request.socket.destroy(), withinMs);
    response.once("close", () => {
      clearTimeout(cut);
      leave();
    });
    app(request, response);
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    seen(response);
    answer(request, response, new Refused("ExpectationFailed"));
  });
  return {
    server,
    drain: () => {
      draining = true;
    },
    close: async (graceMs) => {
      draining = true;
      await closeServer(server, graceMs);
    },
  };
}

function appOf<C extends Caller>(options: ListenerOptions<C>, inFlight: InFlight): Express {
  const { endpoints, metrics } = options;
  const handler = new Handler(options, inFlight);
  const app = express();
  for (const setting of ["x-powered-by", "etag", "query parser"]) app.disable(setting);
  for (const setting of ["case sensitive routing", "strict routing"]) app.enable(setting);
  const count = (endpoint: string, status: number) => metrics.apiRequests.inc({ endpoint, code: String(status) });
  for (const [path, methods] of byPath(endpoints)) {
    app.all(expressPath(path), async (request: Request, response: Response) => {
      const endpoint = methods.get(request.method === "HEAD" ? "GET" : request.method);
      const made: Answer | Refused =
        endpoint === undefined
          ? notAllowed(methods)
          : await handler.handle(endpoint, request, request.params as Record<string, string>);
      answer(request, response, made);
      count(endpoint?.operation ?? "", made.status ?? 200);
    });
  }
  const nothing = (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response, new Refused("NoSuchEndpoint"));
    count("", 404);
  };
  app.use((request: Request, response: Response) => nothing(request, response));
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    // A path that cannot be decoded names nothing.
    if (error instanceof URIError) return nothing(request, response);
    options.logger.error({ err: error }, "an answer of the API could not be made");
    answer(request, response, new Refused("Unexpected"));
    return count("", 503);
  });
  return app;
}

type Methods<C extends Caller> = ReadonlyMap<string, Endpoint<C>>;

function byPath<C extends Caller>(endpoints: readonly Endpoint<C>[]): ReadonlyMap<string, Methods<C>> {
  const paths = new Map<string, Map<string, Endpoint<C>>>();
  for (const endpoint of endpoints) {
    const methods = paths.get(endpoint.path) ?? new Map<string, Endpoint<C>>();
    paths.set(endpoint.path, methods.set(endpoint.method, endpoint));
  }
  return paths;
}

/** Express writes `{name}` as `:name`. */
function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function notAllowed<C extends Caller>(methods: Methods<C>): Refused {
  const allow = [...methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
  return new Refused("MethodNotAllowed", { headers: { allow } });
}

function answer(request: IncomingMessage, response: ServerResponse, what: Answer | Refused): void {
  const body = Buffer.from(JSON.stringify(what.body));
  const headers = {
    ...HEADERS,
    "content-length": body.length,
    ...(what instanceof Refused && what.headers),
  };
  answerUnread(request, response, { status: what.status ?? 200, headers, body });
}
