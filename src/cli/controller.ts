import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../config/schema.ts";
import type { KubeAuth } from "../kube/auth.ts";
import { KubeClient } from "../kube/client.ts";
import { NotLeaderError } from "../kube/fence.ts";
import { inClusterAuth } from "../kube/in-cluster.ts";
import { findAuth } from "../kube/kubeconfig.ts";
import { LeadershipLostError } from "../kube/leader-elector.ts";
import { KubeTransport } from "../kube/transport.ts";
import { listen, portOf } from "../lib/listen.ts";
import { createAdminServer } from "../observability/http.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import { createMetrics } from "../observability/metrics.ts";
import { Life } from "./controller/life.ts";
import { Preflight } from "./controller/preflight.ts";
import { closeNow, roleCommand } from "./role.ts";

/** `davit controller`: what makes WebhookRoutes so. */
export const command = roleCommand({
  name: "controller",
  summary: "reconcile WebhookRoutes in a cluster",
  about: `Turns WebhookRoutes into published routes, key rings, ingress objects and workers. Of several replicas one leads, by the Lease
davit-controller-<instance>; the others keep their caches warm. What is missing in the cluster is told in the log and at /readyz, and looked
for again. SIGTERM: finishes what is under way and gives the Lease up. A leader that loses its Lease stops
writing, reads everything anew and waits for the next term.`,
  start: startController,
});

/** All writes of the process together: what many tenants change at once must not crowd out the API server's other users. */
const WRITE_LIMIT = { perSecond: 100, burst: 200 } as const;

/** Starts the controller. @returns drains and ends it */
async function startController(config: Config): Promise<() => Promise<void>> {
  const metrics = createMetrics();
  const logger = createLogger("controller", { level: config.logLevel });
  const identity = config.controller.identity ?? `${hostname()}_${randomUUID()}`;
  const auth = await authOf(config);
  const transport = new KubeTransport({ auth, metrics, userAgent: "davit-controller", writeLimit: WRITE_LIMIT });
  const client = new KubeClient(transport);
  const preflight = new Preflight({ client, config, logger });
  const begin = () => {
    const life = new Life({ config, client, identity, metrics, logger });
    life.start();
    return life;
  };
  let life = begin();
  const admin = createAdminServer(metrics.registry, () => preflight.and(life.readiness()), {
    beforeScrape: () => life.show(),
    answer: (path) => life.scale(path),
  });
  const { adminPort: port, address } = config.controller;
  await listen(admin, { port, address, remedy: "set controller.adminPort to another" });
  logger.info({ adminPort: portOf(admin), identity }, "controller runs");
  const ending = new AbortController();
  const live = async () => {
    while (!(await hasEnded(life, { signal: ending.signal, preflight, logger }))) {
      await life.end();
      life = begin();
    }
  };
  const living = live();
  return async () => {
    ending.abort();
    await living;
    await life.end();
    await client.transport.close();
    closeNow(admin);
  };
}

/**
 * Waits until the cluster has what a controller needs, then works. Whatever ends it but the signal and a lost term ends the process.
 * @returns false when the term as leader was lost, and the next life is due
 */
async function hasEnded(
  life: Life,
  { signal, preflight, logger }: { signal: AbortSignal; preflight: Preflight; logger: Logger },
): Promise<boolean> {
  try {
    await preflight.passed(signal);
    if (!signal.aborted) await life.run(signal);
    if (signal.aborted) return true;
    logger.error("the controllers ended by themselves: ending, to be started anew");
  } catch (error) {
    if (signal.aborted) return true;
    if (error instanceof LeadershipLostError || error instanceof NotLeaderError) {
      logger.warn("the term as leader was lost: reading everything anew, and waiting for the next one");
      return false;
    }
    logger.error({ err: error }, "ending, to be started anew with fresh caches");
  }
  return process.exit(1);
}

/** The files that the config names, else what a person's kubectl would use, else the Pod's own. */
function authOf({ kubernetes }: Config): Promise<KubeAuth> {
  const { server, tokenFile, kubeconfig, context } = kubernetes;
  if (server !== undefined || tokenFile !== undefined) return inClusterAuth(kubernetes);
  return findAuth({ file: kubeconfig, context });
}
