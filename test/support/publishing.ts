import { Writable } from "node:stream";
import type { Operations } from "../../src/custody/operations.ts";
import type { Ledger } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { type Access, TokenAccess } from "../../src/kube/access.ts";
import type { PublishAnswer } from "../../src/gateway/api/results.ts";
import { type ApiServer, type ApiServerOptions, createApiServer } from "../../src/gateway/api/server.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../../src/gateway/server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { listen, portOf } from "../../src/lib/listen.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics, type Metrics } from "../../src/observability/metrics.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { answerProblems } from "./api-schema.ts";
import type { TestRedis } from "./redis.ts";

/** Token that {@link startPublishing} takes unless told otherwise. */
export const TOKEN = "a-token-of-the-tests";
const ENDPOINT = { path: "/v1/namespaces/{namespace}/routes/{route}/events", method: "post" };

/** A gateway with its API listener over a real store. */
export interface Publishing {
  readonly url: string;
  readonly api: ApiServer;
  readonly gateway: Gateway;
  readonly store: RedisStore;
  readonly ledger: Ledger;
  readonly operations: Operations;
  readonly metrics: Metrics;
  /** Everything that was logged. */
  log(): string;
  close(): Promise<void>;
}

/** Starts one that serves these routes. */
export async function startPublishing(
  redis: TestRedis,
  routes: readonly RouteEntry[],
  options: Partial<ApiServerOptions> & {
    readonly access?: Access;
    readonly gateway?: Partial<GatewayOptions>;
  } = {},
): Promise<Publishing> {
  const store = new RedisStore({ url: redis.url });
  await store.start();
  let written = "";
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString();
      done();
    },
  });
  const shared = {
    inboxFor: (namespace: string) => store.inbox({ instance: "default", namespace }),
    clock: systemClock,
    metrics: createMetrics(),
    logger: createLogger("gateway", { level: "debug", destination }),
  };
  const gateway = createGateway({
    ...shared,
    table: { lookup: () => undefined },
    health: () => store.health(),
    ...options.gateway,
  });
  gateway.update(routes);
  const api = createApiServer({
    ...shared,
    door: gateway.inside,
    access: new TokenAccess(Secret.of(TOKEN), "tests"),
    ready: () => true,
    ...options,
  });
  await listen(api.server, { port: 0, address: "127.0.0.1", remedy: "" });
  return {
    url: `http://127.0.0.1:${portOf(api.server)}`,
    api,
    gateway,
    store,
    metrics: shared.metrics,
    ledger: store.ledger({ instance: "default", namespace: routes[0]?.namespace ?? "shop" }),
    operations: store.operations({ instance: "default", namespace: routes[0]?.namespace ?? "shop" }),
    log: () => written,
    close: async () => {
      await api.close(0);
      await gateway.close(0);
      store.close();
    },
  };
}

export interface Published {
  readonly status: number;
  readonly headers: Headers;
  readonly body: PublishAnswer;
}

/**
 * Publishes to `shop/push`, or wherever `path` leads.
 *
 * @param body text as it is, anything else as JSON
 * @throws Error when the answer is not as the API's description says
 */
export async function publish(
  { url }: Pick<Publishing, "url">,
  body: unknown,
  {
    path = "/v1/namespaces/shop/routes/push/events",
    token = TOKEN,
    headers = {},
    method = "POST",
  }: { path?: string; token?: string | undefined; headers?: Record<string, string>; method?: string } = {},
): Promise<Published> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(method !== "GET" && { body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
  });
  const answer = { status: response.status, headers: response.headers, body: (await response.json()) as PublishAnswer };
  const problems = answerProblems(ENDPOINT, answer);
  if (problems.length > 0) throw new Error(`not as described: ${problems.join("; ")}: ${JSON.stringify(answer.body)}`);
  return answer;
}
