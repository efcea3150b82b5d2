import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { WebhookRouteControllers } from "../controllers/webhook-route/index.ts";
import type { Config } from "../config/schema.ts";
import type { KubeAuth } from "../kube/auth.ts";
import { KubeClient } from "../kube/client.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { inClusterAuth } from "../kube/in-cluster.ts";
import { findAuth } from "../kube/kubeconfig.ts";
import { LeaderElector } from "../kube/leader-elector.ts";
import { KubeTransport } from "../kube/transport.ts";
import { systemClock } from "../lib/clock.ts";
import { listen, portOf } from "../lib/listen.ts";
import { createAdminServer } from "../observability/http.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import { createMetrics, type Metrics } from "../observability/metrics.ts";
import { Manager } from "../runtime/manager.ts";
import { Preflight } from "./controller/preflight.ts";
import { RedisSide } from "./controller/redis-side.ts";
import { showRoutes } from "./controller/state-metrics.ts";
import { closeNow, roleCommand } from "./role.ts";

/** `davit controller`: what makes WebhookRoutes so. */
export const command = roleCommand({
  name: "controller",
  summary: "reconcile WebhookRoutes in a cluster",
  about: `Turns WebhookRoutes into published routes, key rings, ingress objects and workers. Of several replicas one leads, by the Lease
davit-controller-<instance>; the others keep their caches warm. What is missing in the cluster is told in the log and at /readyz, and looked
for again. SIGTERM: finishes what is under way and gives the Lease up. A leader that loses its Lease ends with exit code 1.`,
  start: startController,
});

interface Surroundings {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Starts the controller. @returns drains and ends it */
async function startController(config: Config): Promise<() => Promise<void>> {
  const surroundings = {
    config,
    metrics: createMetrics(),
    logger: createLogger("controller", { level: config.logLevel }),
  };
  const { metrics, logger } = surroundings;
  const identity = config.controller.identity ?? `${hostname()}_${randomUUID()}`;
  const auth = await authOf(config);
  const client = new KubeClient(new KubeTransport({ auth, metrics, userAgent: "davit-controller" }));
  const elector = electorOf(client, identity, surroundings);
  const fenced = client.fencedBy(elector);
  const events = new EventRecorder({
    client: fenced,
    reportingController: "davit.dev/controller",
    reportingInstance: identity,
    onDropped: (error) => logger.debug({ err: error }, "an Event was not written"),
  });
  const redis = new RedisSide({ ...surroundings, client: fenced, events, isLeader: () => elector.isLeader() });
  const { custody } = redis;
  const controllers = new WebhookRouteControllers({
    config,
    client: fenced,
    events,
    clock: systemClock,
    metrics,
    logger,
    observations: custody,
    shelves: custody,
    redisAccess: redis.users,
  });
  const manager = new Manager({ logger, elector });
  controllers.register(manager);
  redis.register(manager, controllers.operator);
  const preflight = new Preflight({ client, config, logger });
  const admin = createAdminServer(metrics.registry, () => preflight.and(manager.readiness()), {
    beforeScrape: () => showRoutes(controllers.operator, metrics, elector.isLeader()),
    answer: (path) => custody.scale(path),
  });
  const { adminPort: port, address } = config.controller;
  await listen(admin, { port, address, remedy: "set controller.adminPort to another" });
  logger.info({ adminPort: portOf(admin), identity }, "controller runs");
  const ending = new AbortController();
  const running = run(ending.signal, { preflight, manager, logger });
  redis.start();
  return async () => {
    ending.abort();
    await running;
    await events.flush();
    await client.transport.close();
    redis.close();
    closeNow(admin);
  };
}

/** Waits until the cluster has what a controller needs, then works until the signal fires. Whatever else ends it ends the process. */
async function run(
  signal: AbortSignal,
  { preflight, manager, logger }: { preflight: Preflight; manager: Manager; logger: Logger },
): Promise<void> {
  try {
    await preflight.passed(signal);
    if (!signal.aborted) await manager.run(signal);
    if (signal.aborted) return;
    logger.error("the controllers ended by themselves: ending, to be started anew");
  } catch (error) {
    if (signal.aborted) return;
    logger.error({ err: error }, "ending, to be started anew with fresh caches");
  }
  process.exit(1);
}

function electorOf(client: KubeClient, identity: string, { config, metrics, logger }: Surroundings): LeaderElector {
  return new LeaderElector({
    client,
    namespace: config.namespace,
    name: `davit-controller-${config.instance}`,
    identity,
    metrics,
    onError: (error) => logger.warn({ err: error }, "the leader's Lease could not be read or written; trying again"),
  });
}

/** The files that the config names, else what a person's kubectl would use, else the Pod's own. */
function authOf({ kubernetes }: Config): Promise<KubeAuth> {
  const { server, tokenFile, kubeconfig, context } = kubernetes;
  if (server !== undefined || tokenFile !== undefined) return inClusterAuth(kubernetes);
  return findAuth({ file: kubeconfig, context });
}
