import { randomUUID } from "node:crypto";
import { Writable } from "node:stream";
import { destinationId } from "../../src/api/names.ts";
import type { Directory, KnownDestination, KnownRoute } from "../../src/console/directory.ts";
import { type Console, createConsole, type ListenerOptions } from "../../src/console/server.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import type { ResourceAttributes } from "../../src/kube/access-review.ts";
import type { Access, Caller } from "../../src/kube/access.ts";
import { listen, portOf } from "../../src/lib/listen.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics, type Metrics } from "../../src/observability/metrics.ts";
import { answerProblems, apiDescription } from "./api-schema.ts";
import type { TestRedis } from "./redis.ts";

/** A directory of what a test says there is. */
export class TestDirectory implements Directory {
  isReady = true;
  readonly #routes: readonly KnownRoute[];
  readonly #destinations: readonly KnownDestination[];

  constructor(routes: readonly KnownRoute[], destinations: readonly KnownDestination[] = []) {
    this.#routes = routes;
    this.#destinations = destinations;
  }

  route(namespace: string, name: string): KnownRoute | undefined {
    return this.routes(namespace).find((route) => route.name === name);
  }

  routes(namespace: string): readonly KnownRoute[] {
    return this.#routes.filter((route) => route.namespace === namespace);
  }

  destination(namespace: string, id: string): KnownDestination | undefined {
    return this.destinations(namespace).find((destination) => destination.id === id);
  }

  destinations(namespace: string): readonly KnownDestination[] {
    return this.#destinations.filter((destination) => destination.namespace === namespace);
  }

  byToken(_token: string): KnownDestination | undefined {
    return undefined;
  }
}

export function knownRoute(namespace: string, name: string, route: string): KnownRoute {
  return { namespace, name, route, mayReach: () => true };
}

export function knownDestination(namespace: string, id: string): KnownDestination {
  return { namespace, name: id, id, destination: destinationId(id) ?? "", suspended: false };
}

/**
 * Access by tokens that say what they open: `all`, or rights such as `list webhookroutes/events shop/orders`, joined by commas. An empty name is
 * `shop/`; a right to all of a namespace is one to each of its objects, as RBAC has it. Token `lost`: nobody can be asked.
 */
export class TestAccess implements Access {
  readonly asked: ResourceAttributes[] = [];

  async caller(token: string) {
    if (token === "lost") throw new Error("the API server is gone");
    if (token === "unknown") return undefined;
    const text = Buffer.from(token, "base64url").toString();
    return {
      name: `user ${text}`,
      may: async (attributes: ResourceAttributes) => {
        this.asked.push(attributes);
        const { verb, group, resource, subresource, namespace, name } = attributes;
        const [all, one] = [`${verb} ${resource}/${subresource} ${namespace}/`, name];
        const rights = text.split(",");
        return group === "davit.dev" && (text === "all" || rights.includes(all) || rights.includes(`${all}${one}`));
      },
    };
  }
}

/** A token of {@link TestAccess}. */
export const tokenFor = (...rights: readonly string[]) => Buffer.from(rights.join(",")).toString("base64url");

/** A console over a real store, in a namespace of its own. */
export interface TestConsole {
  readonly url: string;
  readonly console: Console;
  readonly store: RedisStore;
  readonly metrics: Metrics;
  readonly directory: TestDirectory;
  readonly access: TestAccess;
  /** Lines that were logged. */
  log(): readonly Readonly<Record<string, unknown>>[];
  close(): Promise<void>;
}

/** Starts one that knows these routes and destinations. */
export async function startConsole(
  redis: Pick<TestRedis, "url">,
  directory: TestDirectory,
  bounds: Pick<ListenerOptions<Caller>, "withinMs"> = {},
): Promise<TestConsole> {
  const store = new RedisStore({ url: redis.url });
  await store.start();
  let written = "";
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString();
      done();
    },
  });
  const metrics = createMetrics();
  const access = new TestAccess();
  const console = createConsole({
    ...bounds,
    access,
    directory,
    custody: (namespace) => ({
      operations: store.operations({ instance: "default", namespace }),
      ledger: store.ledger({ instance: "default", namespace }),
      statistics: store.statistics({ instance: "default", namespace }),
      inbox: store.inbox({ instance: "default", namespace }),
    }),
    logger: createLogger("console", { level: "debug", destination }),
    metrics,
  });
  await listen(console.server, { port: 0, address: "127.0.0.1", remedy: "" });
  return {
    url: `http://127.0.0.1:${portOf(console.server)}`,
    console,
    store,
    metrics,
    directory,
    access,
    log: () =>
      written
        .trim()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    close: async () => {
      await console.close(0);
      store.close();
    },
  };
}

/** A namespace that no other test uses. */
export const freshNamespace = () => `n-${randomUUID()}`;

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look at whatever fields they know
  readonly body: any;
}

/** How a test calls an endpoint. */
export interface CallOptions {
  readonly method?: "GET" | "POST" | "HEAD" | "PUT" | "DELETE" | "OPTIONS";
  /** Default: one that opens everything. Empty: none. */
  readonly token?: string;
  /** Text as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Calls an endpoint.
 * @throws Error when the answer is not as the API's description says
 */
export async function call(
  { url }: Pick<TestConsole, "url">,
  path: string,
  { method = "GET", token = tokenFor("all"), body, headers = {} }: CallOptions = {},
): Promise<ConsoleAnswer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && {
      body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    }),
  });
  const text = await response.text();
  const answer = {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
  const described = endpointOf(path);
  if (described !== undefined && (method === "GET" || method === "POST")) {
    const problems = answerProblems({ path: described, method: method.toLowerCase() }, answer);
    if (problems.length > 0) throw new Error(`${method} ${path}: ${problems.join("; ")}: ${text}`);
  }
  return answer;
}

const PATTERNS = Object.keys(apiDescription.paths).map(
  (path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}(\\?|$)`)] as const,
);

/** Path of the description that a request's path belongs to. */
function endpointOf(path: string): string | undefined {
  const fitting = PATTERNS.filter(([, pattern]) => pattern.test(path)).map(([described]) => described);
  // `…/dead-letters/count` before `…/{replay}`-like ones.
  return fitting.toSorted((a, b) => a.split("{").length - b.split("{").length)[0];
}
