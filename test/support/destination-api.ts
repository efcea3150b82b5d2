import { createHash } from "node:crypto";
import { Writable } from "node:stream";
import type { KnownDestination, KnownRoute } from "../../src/console/directory.ts";
import { createDestinationListener } from "../../src/console/destination-listener.ts";
import { HolderLimits } from "../../src/console/holder/limits.ts";
import type { RedisStore } from "../../src/custody/redis/store.ts";
import { listen, portOf } from "../../src/lib/listen.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { answerProblems, holderApiDescription } from "./api-schema.ts";
import { TestDirectory } from "./console.ts";

/** A directory with tokens: each destination's is `token-of-<id>`. */
export class TokenDirectory extends TestDirectory {
  readonly #byToken: ReadonlyMap<string, KnownDestination>;

  constructor(routes: readonly KnownRoute[], destinations: readonly KnownDestination[]) {
    super(routes, destinations);
    this.#byToken = new Map(destinations.map((one) => [hashed(`token-of-${one.id}`), one]));
  }

  override byToken(token: string): KnownDestination | undefined {
    return this.#byToken.get(hashed(token));
  }
}

const hashed = (token: string) => createHash("sha256").update(token).digest("hex");

/** The listener of holders over a store. */
export interface TestDestinationListener {
  readonly url: string;
  /** Lines that were logged. */
  log(): string;
  close(): Promise<void>;
}

/** A clock of limits that lets everything pass: each look is an hour later. */
export function endlessLimits(): HolderLimits {
  let now = 0;
  return new HolderLimits(() => (now += 3_600_000));
}

export async function startDestinationListener(
  store: RedisStore,
  directory: TestDirectory,
  limits = endlessLimits(),
): Promise<TestDestinationListener> {
  let written = "";
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString();
      done();
    },
  });
  const listener = createDestinationListener({
    directory,
    limits,
    custody: (namespace) => {
      const scope = { instance: "default", namespace };
      return {
        operations: store.operations(scope),
        ledger: store.ledger(scope),
        statistics: store.statistics(scope),
        inbox: store.inbox(scope),
      };
    },
    logger: createLogger("console", { level: "debug", destination }),
    metrics: createMetrics(),
  });
  await listen(listener.server, { port: 0, address: "127.0.0.1", remedy: "" });
  return {
    url: `http://127.0.0.1:${portOf(listener.server)}`,
    log: () => written,
    close: () => listener.close(0),
  };
}

export interface HolderAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look at whatever fields they know
  readonly body: any;
}

const PATTERNS = Object.keys(holderApiDescription.paths)
  .map((path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}(\\?|$)`)] as const)
  .toSorted(([a], [b]) => a.split("{").length - b.split("{").length);

/**
 * Calls an endpoint with a token of the destination with this id.
 * @throws Error when the answer is not as the description says
 */
export async function callAs(
  id: string,
  { url }: Pick<TestDestinationListener, "url">,
  path: string,
  {
    method = "GET",
    body,
    headers = {},
  }: {
    readonly method?: "GET" | "POST";
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<HolderAnswer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(id !== "" && { authorization: `Bearer token-of-${id}` }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer = { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  const described = PATTERNS.find(([, pattern]) => pattern.test(path))?.[0];
  if (described !== undefined) {
    const problems = answerProblems({ path: described, method: method.toLowerCase(), of: "holder" }, answer);
    if (problems.length > 0) throw new Error(`${method} ${path}: ${problems.join("; ")}: ${text}`);
  }
  return answer;
}
