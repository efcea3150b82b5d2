import { setTimeout as sleep } from "node:timers/promises";
import { redisUrlOf } from "../config/secret-file.ts";
import type { Config } from "../config/schema.ts";
import { createDestinationListener } from "../console/destination-listener.ts";
import { type Console, createConsole } from "../console/server.ts";
import { RightsCheck } from "../custody/redis/rights-check.ts";
import type { RedisStore } from "../custody/redis/store.ts";
import { AccessReviews } from "../kube/access-review.ts";
import { ClusterAccess } from "../kube/access.ts";
import { inClusterAuth } from "../kube/in-cluster.ts";
import { KubeTransport } from "../kube/transport.ts";
import { listen, portOf } from "../lib/listen.ts";
import { createAdminServer, type Readiness } from "../observability/http.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import { createMetrics, type Metrics } from "../observability/metrics.ts";
import { recordStoreHealth } from "../observability/store-health.ts";
import { consoleCustody } from "./console-custody.ts";
import { ClusterDirectory } from "./console/cluster-directory.ts";
import { openStore } from "./edge.ts";
import { closeNow, roleCommand } from "./role.ts";

/** `davit console`: the operations API of a cluster. */
export const command = roleCommand({
  name: "console",
  summary: "run the operations API in a cluster",
  about: `Serves the operations API (events, dead letters, replays, destinations) to whoever RBAC gives the right, and on a listener of its own
to holders of a destination's token. SIGTERM: not ready any more, still serving for console.shutdownDelayMs, then no new connections, and an end
when what is in flight is answered.`,
  start: startConsole,
});

interface Surroundings {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** The listeners; that of holders only where it has a port. */
interface Listeners {
  readonly operators: Console;
  readonly holders: Console | undefined;
}

/** Starts the console. @returns drains and ends it */
async function startConsole(config: Config): Promise<() => Promise<void>> {
  const metrics = createMetrics();
  const logger = createLogger("console", { level: config.logLevel });
  const surroundings = { config, metrics, logger };
  const { replicas, urlFile } = config.redis;
  // It accepts nothing that senders would hold for safe, so nobody asks how durable the store is; its user may not ask either.
  const store = openStore({ url: redisUrlOf(urlFile), durability: "assert", replicas }, surroundings);
  const auth = await inClusterAuth(config.kubernetes);
  const transport = new KubeTransport({ auth, metrics, userAgent: "davit-console" });
  const directory = new ClusterDirectory({ transport, ...surroundings });
  const rights = checkRights(store, surroundings);
  const listeners = listenersOf({ transport, directory, store }, surroundings);
  let draining = false;
  const ready = () => readinessOf([directory.readiness(), storeReadiness(store), problem(rights.problem)], draining);
  const admin = createAdminServer(metrics.registry, ready, {
    beforeScrape: () => recordStoreHealth(metrics, store.health()),
  });

  directory.start();
  await store.start();
  await rights.start();
  await listenOn(listeners, admin, config.console);
  const { operators, holders } = listeners;
  const destinationPort = holders && portOf(holders.server);
  logger.info({ port: portOf(operators.server), adminPort: portOf(admin), destinationPort }, "console listens");
  return async () => {
    draining = true;
    await drain(listeners, surroundings);
    rights.stop();
    await directory.stop();
    await transport.close();
    store.close();
    closeNow(admin);
  };
}

function listenersOf(
  {
    transport,
    directory,
    store,
  }: { readonly transport: KubeTransport; readonly directory: ClusterDirectory; readonly store: RedisStore },
  { config, metrics, logger }: Surroundings,
): Listeners {
  const { audience, destinationPort } = config.console;
  const shared = { directory, custody: consoleCustody(store, config.instance), logger, metrics };
  return {
    operators: createConsole({ ...shared, access: new ClusterAccess(new AccessReviews({ transport, audience })) }),
    holders: destinationPort === undefined ? undefined : createDestinationListener(shared),
  };
}

function checkRights(store: RedisStore, { config, logger }: Surroundings): RightsCheck {
  return new RightsCheck({
    store,
    scope: { instance: config.instance, namespace: config.namespace },
    onChange: (found) => {
      if (found === undefined) logger.info("the Redis user has the rights it needs");
      else logger.error({ problem: found }, "the Redis user lacks rights: calls would fail");
    },
  });
}

const DRAINING: Readiness = { ok: false, problems: ["the console is shutting down"] };

function readinessOf(parts: readonly Readiness[], draining: boolean): Readiness {
  if (draining) return DRAINING;
  const problems = parts.flatMap((part) => part.problems);
  return { ok: problems.length === 0, problems };
}

function storeReadiness(store: RedisStore): Readiness {
  return problem(store.health().up ? undefined : "Redis does not answer or takes no writes");
}

function problem(text: string | undefined): Readiness {
  return text === undefined ? { ok: true, problems: [] } : { ok: false, problems: [text] };
}

async function listenOn(
  { operators, holders }: Listeners,
  admin: Parameters<typeof listen>[0],
  { address, port, destinationPort, adminPort }: Config["console"],
): Promise<void> {
  await listen(admin, { port: adminPort, address, remedy: "set console.adminPort to another" });
  await listen(operators.server, { port, address, remedy: "set console.port to another" });
  if (holders === undefined || destinationPort === undefined) return;
  await listen(holders.server, { port: destinationPort, address, remedy: "set console.destinationPort to another" });
}

/** Load balancers go on sending until they have noticed that the Pod is not ready: until then everything is served. */
async function drain({ operators, holders }: Listeners, { config, logger }: Surroundings): Promise<void> {
  const { shutdownDelayMs, shutdownGraceMs } = config.console;
  logger.info({ shutdownDelayMs }, "stopping: not ready any more, serving on until load balancers have noticed");
  operators.drain();
  holders?.drain();
  await sleep(shutdownDelayMs);
  logger.info({ shutdownGraceMs }, "stopping: no new connections, finishing what is in flight");
  await Promise.all([operators.close(shutdownGraceMs), holders?.close(shutdownGraceMs)]);
}
