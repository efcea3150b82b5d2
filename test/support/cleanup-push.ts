import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { CLEANUP_POLICIES, CLEANUP_RUNS, type PolicyObject, type RunObject } from "../../src/api/cleanup-resources.ts";
import { kubeRunStarter } from "../../src/cleanup/run-starter.ts";
import { KubeRunView } from "../../src/cleanup/run-view.ts";
import type { Inbox } from "../../src/custody/port.ts";
import { attemptByTarget } from "../../src/delivery/attempt-by-target.ts";
import { createCleanupAttempt } from "../../src/delivery/cleanup-attempt.ts";
import { NamespaceWorker } from "../../src/delivery/namespace-worker.ts";
import { workerDestinations } from "../../src/delivery/worker-destinations.ts";
import type { RunView } from "../../src/gateway/api/run-view.ts";
import { type ApiServer, createApiServer } from "../../src/gateway/api/server.ts";
import { destinationEntry, HOST, SECRET } from "../../src/gateway/testing.ts";
import { type Access, TokenAccess } from "../../src/kube/access.ts";
import { KubeClient } from "../../src/kube/client.ts";
import type { KubeAuth } from "../../src/kube/auth.ts";
import { testMetrics } from "../../src/kube/conformance/fixtures.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { listen, portOf } from "../../src/lib/listen.ts";
import { Secret } from "../../src/lib/secret.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { answerProblems } from "./api-schema.ts";
import { type GatewayOverRedis, providerRoute, startGatewayOverRedis } from "./gateway-over-redis.ts";
import { keyFor } from "./gateway-over-redis.ts";
import { sendTo } from "./gateway.ts";
import type { TestRedis } from "./redis.ts";

/** Token that the API listener takes unless told otherwise. */
export const TOKEN = "a-token-of-the-tests";
/** Name of the CleanupPolicy that the route names. */
export const POLICY = "expired-labels";

/** What a push asks for unless told otherwise. */
export const RUN = { run_id: "2026-W05", warehouse_id: "wh-17", expired_before: "2026-01-31T00:00:00Z" };

const ENDPOINT = { path: "/v1/namespaces/{namespace}/cleanup-policies/{policy}/runs/{run}", method: "get" };
const SPEC = {
  s3: { region: "r", bucket: "bucket", credentialsSecretRef: { name: "s3" } },
  prefixTemplate: "warehouses/{scope}/",
} as unknown as PolicyObject["spec"];

/** A queue-push route whose pushes ask for runs of {@link POLICY}. */
export function cleanupRoute(namespace: string, changes: Partial<RouteEntry> = {}): RouteEntry {
  const target = { type: "cleanup", policy: POLICY } as const;
  const entry = providerRoute("queue-push", { namespace, keys: [keyFor("Signing", SECRET)], ...changes });
  return { ...entry, destinations: [destinationEntry("cleanup", { target })], ...changes };
}

/** The way from a push to a run: gateway, API listener, custody in a real Redis, and workers, over an API server. */
export class CleanupPush {
  readonly metrics = createMetrics();
  readonly namespace: string;
  readonly route: RouteEntry;
  readonly #gateway: GatewayOverRedis;
  readonly #api: ApiServer;
  readonly #transport: KubeTransport;
  readonly #client: KubeClient;
  readonly #workers: NamespaceWorker[] = [];
  #pushes = 0;

  private constructor(gateway: GatewayOverRedis, route: RouteEntry, options: CleanupPushOptions) {
    this.route = route;
    this.namespace = route.namespace;
    this.#gateway = gateway;
    this.#transport = new KubeTransport({ auth: options.auth, metrics: testMetrics() });
    this.#client = new KubeClient(this.#transport);
    gateway.gateway.update([route]);
    const { store } = gateway;
    this.#api = createApiServer({
      door: gateway.gateway.inside,
      access: options.access ?? new TokenAccess(Secret.of(TOKEN), "tests"),
      inboxFor: (namespace) => store.inbox({ instance: "default", namespace }),
      clock: systemClock,
      metrics: this.metrics,
      logger: silentLogger,
      ready: () => true,
      cleanup: {
        runs: options.runs ?? new KubeRunView({ client: this.#client, instance: "default" }),
        ledgerFor: (namespace) => store.ledger({ instance: "default", namespace }),
      },
    });
  }

  /** @param route of {@link cleanupRoute} */
  static async start(redis: TestRedis, route: RouteEntry, options: CleanupPushOptions): Promise<CleanupPush> {
    const { inbox } = options;
    const gateway: GatewayOverRedis = await startGatewayOverRedis(redis, [route], {
      ...(inbox && { inboxFor: (namespace) => inbox(gateway.store.inbox({ instance: "default", namespace })) }),
    });
    const push = new CleanupPush(gateway, route, options);
    await listen(push.#api.server, { port: 0, address: "127.0.0.1", remedy: "" });
    return push;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${portOf(this.#api.server)}`;
  }

  get ledger() {
    return this.#gateway.store.ledger({ instance: "default", namespace: this.namespace });
  }

  get operations() {
    return this.#gateway.store.operations({ instance: "default", namespace: this.namespace });
  }

  get runs() {
    return this.#client.resource(CLEANUP_RUNS);
  }

  makePolicy() {
    return this.#client
      .resource(CLEANUP_POLICIES)
      .create({ metadata: { namespace: this.namespace, name: POLICY }, spec: SPEC });
  }

  removePolicy() {
    return this.#client.resource(CLEANUP_POLICIES).delete({ namespace: this.namespace, name: POLICY });
  }

  /** All runs of the namespace. */
  async madeRuns() {
    return (await this.runs.list(this.namespace)).items;
  }

  /** Writes a run's status, as controller and cleaner do. */
  async writeStatus(name: string, status: NonNullable<RunObject["status"]>): Promise<void> {
    const ref = { namespace: this.namespace, name };
    await this.runs.mergePatch(ref, { status }, {}, { subresource: "status" });
  }

  /** Headers of a signed push. @param id of the delivery; default one of its own */
  signed(body: string, id = `delivery-${(this.#pushes += 1)}`, secret = SECRET): Record<string, string> {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
    return {
      "content-type": "application/json",
      "x-delivery-id": id,
      "x-delivery-timestamp": timestamp,
      "x-delivery-signature": `sha256=${signature}`,
    };
  }

  /** Sends a push. */
  push(run: object | string = RUN, { id, secret }: { readonly id?: string; readonly secret?: string } = {}) {
    const body = typeof run === "string" ? run : JSON.stringify(run);
    return sendTo(this.#gateway, { body, headers: this.signed(body, id, secret) });
  }

  /** Sends a push over a socket of its own. @returns its end, whoever cuts it, with all that came over it */
  async pushOverSocket(
    run: object,
    id: string,
  ): Promise<{ readonly cut: () => void; readonly ended: Promise<string> }> {
    const body = JSON.stringify(run);
    const headers = { host: HOST, "content-length": String(body.length), ...this.signed(body, id) };
    const socket = connect(Number(new URL(this.#gateway.url).port), "127.0.0.1");
    let received = "";
    socket.on("data", (data: Buffer) => (received += data.toString()));
    socket.on("error", () => undefined);
    await once(socket, "connect");
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /push HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
    const ended = once(socket, "close").then(() => received);
    return { cut: () => socket.destroy(), ended };
  }

  /** Asks what became of a run, and holds the answer to its description. @param path default: where the run's id leads */
  async ask(
    runId: string,
    {
      path = `/v1/namespaces/${this.namespace}/cleanup-policies/${POLICY}/runs/${encodeURIComponent(runId)}`,
      token = TOKEN,
    } = {},
  ) {
    const response = await fetch(this.apiUrl + path, {
      headers: token === "" ? {} : { authorization: `Bearer ${token}` },
    });
    const { status, headers } = response;
    const body = (await response.json()) as Record<string, unknown>;
    const problems = answerProblems(ENDPOINT, { status, headers, body });
    if (problems.length > 0) throw new Error(`not as described: ${problems.join("; ")}: ${JSON.stringify(body)}`);
    return { status, headers, body };
  }

  /** Starts a worker of the namespace. @param auth of another service account */
  async startWorker(auth?: KubeAuth): Promise<NamespaceWorker> {
    const transport = auth && new KubeTransport({ auth, metrics: testMetrics() });
    const client = transport ? new KubeClient(transport) : this.#client;
    const start = kubeRunStarter({ client, instance: "default" });
    const worker = new NamespaceWorker({
      store: this.#gateway.store,
      scope: { instance: "default", namespace: this.namespace },
      attempt: attemptByTarget({
        cleanup: createCleanupAttempt({ start, metrics: this.metrics, logger: silentLogger }),
      }),
      destinations: workerDestinations([this.route]),
      logger: silentLogger,
      metrics: this.metrics,
    });
    this.#workers.push(worker);
    await worker.start();
    return worker;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    await this.#api.close(0);
    await this.#gateway.close();
    await this.#transport.close();
  }
}

export interface CleanupPushOptions {
  readonly auth: KubeAuth;
  readonly access?: Access;
  /** Where runs are found; default the API server of `auth`. */
  readonly runs?: RunView;
  /** Stands between the gateway and its inbox. */
  readonly inbox?: (inbox: Inbox) => Inbox;
}
