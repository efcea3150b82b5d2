import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { answerConnectionErrors } from "../../lib/connection-errors.ts";
import { closeServer, SERVER_OPTIONS } from "../../lib/http-server.ts";
import { CLAIM_TIMEOUT_MS } from "../claim-timeout.ts";
import { REFUSALS } from "../refusals.ts";
import { sendRefusal } from "../respond.ts";
import { Publish, type PublishOptions, type RouteName } from "./publish.ts";
import { API_REFUSALS, type ApiReason } from "./refusals.ts";
import { NAME, runAsked } from "./run-path.ts";
import { RunResource, type RunResourceOptions } from "./run-resource.ts";

/** What {@link createApiServer} needs. */
export interface ApiServerOptions extends Omit<PublishOptions, "claimTimeoutMs"> {
  readonly claimTimeoutMs?: number;
  /** Where cleanup runs and the events that ask for them are. Absent: there is no such resource. */
  readonly cleanup?: Pick<RunResourceOptions, "runs" | "ledgerFor"> | undefined;
}

/** The API listener of the gateway. */
export interface ApiServer {
  /** Not listening yet. */
  readonly server: Server;
  /** Requests are still taken, and their connections closed. */
  drain(): void;
  /** Stops listening, finishes what is in flight, then cuts whatever is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Value of `Allow` (RFC 9110 §15.5.6). */
const ALLOWED: Readonly<Partial<Record<ApiReason, string>>> = { MethodNotAllowed: "POST", RunMethodNotAllowed: "GET" };

const EVENTS = new RegExp(`^/v1/namespaces/(?<namespace>${NAME})/routes/(?<route>${NAME})/events$`);

/** Makes the listener for callers inside the cluster. It must never be reached from outside. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const publish = new Publish({ claimTimeoutMs: CLAIM_TIMEOUT_MS, ...options });
  const runs = options.cleanup && new RunResource({ ...options, ...options.cleanup });
  const notFound = options.metrics.ingestRequests.labels("", "", "not_found");
  const rejected = options.metrics.ingestRequests.labels("", "", "rejected");
  const server = createServer(SERVER_OPTIONS);
  const seen = answerConnectionErrors(server);
  let draining = false;
  const refuse = (request: IncomingMessage, response: ServerResponse, reason: ApiReason) => {
    (reason === "NoSuchEndpoint" ? notFound : rejected).inc();
    const allow = ALLOWED[reason];
    sendRefusal(request, response, API_REFUSALS[reason], allow === undefined ? {} : { headers: { allow } });
  };
  const take = (request: IncomingMessage, response: ServerResponse) => {
    seen(response);
    if (draining) response.shouldKeepAlive = false;
    const run = runs && runAsked(request);
    if (typeof run === "string") return refuse(request, response, run);
    if (run !== undefined) return void runs?.handle(request, response, run);
    const name = routeNamed(request.url ?? "");
    if (name === undefined) return refuse(request, response, "NoSuchEndpoint");
    if (request.method !== "POST") return refuse(request, response, "MethodNotAllowed");
    void publish.handle(request, response, name);
  };
  server.on("request", take);
  server.on("checkContinue", take);
  server.on("checkExpectation", (request, response) => {
    seen(response);
    sendRefusal(request, response, REFUSALS.ExpectationFailed);
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

function routeNamed(url: string): RouteName | undefined {
  const [path = ""] = url.split("?", 1);
  const { namespace, route } = EVENTS.exec(path)?.groups ?? {};
  return namespace === undefined || route === undefined ? undefined : { namespace, route };
}
