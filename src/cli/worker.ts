import { kubeRunStarter } from "../cleanup/run-starter.ts";
import { attemptByTarget } from "../delivery/attempt-by-target.ts";
import { createCleanupAttempt } from "../delivery/cleanup-attempt.ts";
import { ClusterWorker } from "../delivery/cluster/cluster-worker.ts";
import { createHttpAttempt } from "../delivery/http-attempt.ts";
import { EgressGuard } from "../egress/guard.ts";
import { HttpSender } from "../egress/http-sender.ts";
import { KubeClient } from "../kube/client.ts";
import { inClusterAuth } from "../kube/in-cluster.ts";
import { KubeTransport } from "../kube/transport.ts";
import { portOf } from "../lib/listen.ts";
import { createLogger } from "../observability/logger.ts";
import { createMetrics } from "../observability/metrics.ts";
import { roleCommand } from "./role.ts";

/** `davit worker`: delivers the events of a namespace, or of one route. */
export const command = roleCommand({
  name: "worker",
  summary: "deliver the events of a namespace in a cluster",
  about: `Drains the destinations that its config names: delivers, retries, dead-letters. The controller writes the config; a change of it takes
effect at once. SIGTERM: takes nothing more, and ends when what is under way has been settled, after 75 seconds at most.`,
  async start(config) {
    const logger = createLogger("worker", { level: config.logLevel }).child({ namespace: config.worker.namespace });
    const { concurrency, egress } = config.worker;
    // As many connections as deliveries: none waits for another's although a destination is free.
    const sender = new HttpSender({ guard: new EgressGuard({ allow: egress.allow }), connections: concurrency });
    const metrics = createMetrics();
    const auth = await inClusterAuth(config.kubernetes);
    // Without cleanup destinations it opens no connection, and has no right to.
    const transport = new KubeTransport({ auth, metrics, userAgent: "davit-worker" });
    const start = kubeRunStarter({ client: new KubeClient(transport), instance: config.instance });
    const attempt = attemptByTarget({
      http: createHttpAttempt(sender),
      cleanup: createCleanupAttempt({ start, metrics, logger }),
    });
    const worker = new ClusterWorker({ config, attempt, noticeSender: sender, metrics, logger });
    await worker.start();
    logger.info({ adminPort: portOf(worker.admin) }, "worker runs");
    return async () => {
      await worker.stop();
      await Promise.all([sender.close(), transport.close()]);
    };
  },
});
