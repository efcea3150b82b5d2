import { setTimeout as sleep } from "node:timers/promises";
import { routesNamespace } from "../api/names.ts";
import { redisUrlOf } from "../config/secret-file.ts";
import { KubeRunView } from "../cleanup/run-view.ts";
import type { Config } from "../config/schema.ts";
import { RightsCheck } from "../custody/redis/rights-check.ts";
import type { RedisStore } from "../custody/redis/store.ts";
import { EgressGuard } from "../egress/guard.ts";
import { ClusterAccess } from "../kube/access.ts";
import { RouteSource } from "../gateway/source/route-source.ts";
import { ServingLease } from "../gateway/source/serving-lease.ts";
import { ServingPods } from "../gateway/source/serving-pods.ts";
import { AccessReviews } from "../kube/access-review.ts";
import { KubeClient } from "../kube/client.ts";
import { inClusterAuth } from "../kube/in-cluster.ts";
import { KubeTransport } from "../kube/transport.ts";
import { systemClock } from "../lib/clock.ts";
import { listen, portOf } from "../lib/listen.ts";
import { createAdminServer, type Readiness } from "../observability/http.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import { createMetrics, type Metrics } from "../observability/metrics.ts";
import { Edge, openStore } from "./edge.ts";
import { closeNow, roleCommand } from "./role.ts";

/** `davit gateway`: the HTTP edge of a cluster. */
export const command = roleCommand({
  name: "gateway",
  summary: "run the HTTP edge in a cluster",
  about: `Takes webhooks for the routes that the controller has published, verifies, deduplicates and stores them. Serves on while the API server is
away. SIGTERM: not ready any more, still serving for gateway.shutdownDelayMs, then no new connections, and an end when what is in flight
is answered.`,
  start: startGateway,
});

interface Surroundings {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Starts the gateway. @returns drains and ends it */
async function startGateway(config: Config): Promise<() => Promise<void>> {
  const surroundings = {
    config,
    metrics: createMetrics(),
    logger: createLogger("gateway", { level: config.logLevel }),
  };
  const { metrics, logger } = surroundings;
  const { durability, replicas, urlFile } = config.redis;
  const store = openStore({ url: redisUrlOf(urlFile), durability, replicas }, surroundings);
  const auth = await inClusterAuth(config.kubernetes);
  const transport = new KubeTransport({ auth, metrics, userAgent: "davit-gateway" });
  const client = new KubeClient(transport);
  const rights = checkRights(store, surroundings);
  const pods = new ServingPods({
    client,
    namespace: config.namespace,
    instance: config.instance,
    podName: config.gateway.podName,
  });
  const edge: Edge = new Edge({
    store,
    instance: config.instance,
    metrics,
    logger,
    trustedProxies: config.gateway.trustedProxies,
    egress: new EgressGuard({ allow: config.gateway.egress.allow }),
    pods: () => pods.count,
    showsBacklog: () => pods.tellsBacklog,
    access: accessOf(transport, config.gateway.api),
    runs: new KubeRunView({ client, instance: config.instance }),
    ready: () => both(source.readiness(), rights.problem),
  });
  const source: RouteSource = sourceOf(transport, edge, surroundings, () => lease?.changed());
  const lease = leaseOf(client, { source, edge }, surroundings);
  const admin = createAdminServer(metrics.registry, () => edge.gateway.readiness());
  const ending = new AbortController();

  await source.start();
  await store.start();
  await rights.start();
  edge.start();
  void pods.run(ending.signal);
  await listenOn(edge, admin, config.gateway);
  const apiPort = edge.api && portOf(edge.api.server);
  logger.info({ port: portOf(edge.gateway.server), adminPort: portOf(admin), apiPort }, "gateway listens");
  return async () => {
    await drain(edge, surroundings);
    ending.abort();
    rights.stop();
    lease?.stop();
    await source.stop();
    await transport.close();
    store.close();
    closeNow(admin);
  };
}

function accessOf(transport: KubeTransport, { port, audience }: Config["gateway"]["api"]): ClusterAccess | undefined {
  return port === undefined ? undefined : new ClusterAccess(new AccessReviews({ transport, audience }));
}

function checkRights(store: RedisStore, { config, logger }: Surroundings): RightsCheck {
  return new RightsCheck({
    store,
    scope: { instance: config.instance, namespace: config.namespace },
    onChange: (problem) => {
      if (problem === undefined) logger.info("the Redis user has the rights it needs");
      else logger.error({ problem }, "the Redis user lacks rights: events would be refused");
    },
  });
}

function both(readiness: Readiness, problem: string | undefined): Readiness {
  return problem === undefined ? readiness : { ok: false, problems: [...readiness.problems, problem] };
}

function sourceOf(
  transport: KubeTransport,
  edge: Edge,
  { config, metrics, logger }: Surroundings,
  onServed: () => void,
): RouteSource {
  return new RouteSource({
    transport,
    namespace: routesNamespace(config.release),
    instance: config.instance,
    cacheDir: config.gateway.cacheDir,
    usable: (entry) => edge.gateway.usable(entry),
    apply: (change) => edge.change(change),
    onEntries: (entries) => edge.watchBacklog(entries),
    onServed,
    metrics,
    logger,
    clock: systemClock,
  });
}

/** Without a Pod's name, as outside of a cluster, nobody waits for a report. */
function leaseOf(
  client: KubeClient,
  { source, edge }: { readonly source: RouteSource; readonly edge: Edge },
  { config, logger }: Surroundings,
): ServingLease | undefined {
  const { podName, podUid } = config.gateway;
  if (podName === undefined) {
    logger.warn("gateway.podName is not set: the controller is not told what this gateway serves");
    return undefined;
  }
  return new ServingLease({
    client,
    namespace: config.namespace,
    instance: config.instance,
    podName,
    podUid,
    served: () => source,
    observations: () => edge.gateway.observations(),
    logger,
  });
}

async function listenOn(edge: Edge, admin: Parameters<typeof listen>[0], gateway: Config["gateway"]): Promise<void> {
  const { address, port, adminPort, api } = gateway;
  await listen(admin, { port: adminPort, address, remedy: "set gateway.adminPort to another" });
  if (edge.api)
    await listen(edge.api.server, { port: api.port ?? 0, address, remedy: "set gateway.api.port to another" });
  await listen(edge.gateway.server, { port, address, remedy: "set gateway.port to another" });
}

/** Load balancers go on sending until they have noticed that the Pod is not ready: until then everything is served. */
async function drain(edge: Edge, { config, logger }: Surroundings): Promise<void> {
  const { shutdownDelayMs, shutdownGraceMs } = config.gateway;
  logger.info({ shutdownDelayMs }, "stopping: not ready any more, serving on until load balancers have noticed");
  edge.drain();
  await sleep(shutdownDelayMs);
  logger.info({ shutdownGraceMs }, "stopping: no new connections, finishing what is in flight");
  await edge.stop(shutdownGraceMs);
}
