import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { KubeRunRecords } from "../cleanup/records/kubernetes.ts";
import { CleanupRunner } from "../cleanup/run/runner.ts";
import { loadCleanerConfig } from "../config/load.ts";
import { KubeClient } from "../kube/client.ts";
import { inClusterAuth } from "../kube/in-cluster.ts";
import { KubeTransport } from "../kube/transport.ts";
import type { CleanerConfig } from "../config/schema.ts";
import { listen, portOf } from "../lib/listen.ts";
import { systemTimers } from "../lib/timers.ts";
import { createAdminServer } from "../observability/http.ts";
import { createLogger } from "../observability/logger.ts";
import { createMetrics } from "../observability/metrics.ts";
import { rotatingCredentials } from "./cleaner/credentials.ts";
import { closeNow, ownConfigRoleCommand } from "./role.ts";

/** `davit cleaner`: carries out the runs of a CleanupPolicy. */
export const command = ownConfigRoleCommand({
  name: "cleaner",
  summary: "carry out the runs of a CleanupPolicy in a cluster",
  about: `Carries out the CleanupRuns of one CleanupPolicy that the controller has admitted: the oldest first, several scopes side by side. What it has done is
in their status, so that whoever comes next goes on. SIGTERM: finishes the batches under way, gives its leases up and ends, within 75 seconds.
It needs no config file: the controller sets DAVIT_CLEANER_* in its Pods.`,
  load: (file) => loadCleanerConfig(file, process.env),
  start: startCleaner,
});

/** Kubernetes gives a cleaner 75 s (`terminationGracePeriodSeconds`); a batch that has not ended by then is repeated by the next one, ms. */
const STOP_WITHIN_MS = 70_000;

/** Starts a cleaner. @returns ends it in order */
async function startCleaner(config: CleanerConfig): Promise<() => Promise<void>> {
  const { namespace, policy, concurrency, adminPort: port, address, identity } = config.cleaner;
  const logger = createLogger("cleaner", { level: config.logLevel }).child({ namespace, policy });
  const metrics = createMetrics();
  const auth = await inClusterAuth(config.kubernetes);
  const client = new KubeClient(new KubeTransport({ auth, metrics, userAgent: "davit-cleaner" }));
  const onError = (error: unknown) =>
    logger.warn({ err: error }, "reading runs from the API server failed; it is tried again");
  const onRestored = () => {
    logger.error(
      "the API server's data was restored from a backup: what is known here no longer holds; ending, to begin anew",
    );
    process.kill(process.pid, "SIGTERM");
  };
  const records = new KubeRunRecords({ client, namespace, policy, metrics, onError, onRestored });
  const storeOf = await storeOpener(config);
  const holder = identity ?? `${hostname()}_${randomUUID()}`;
  const runner = new CleanupRunner({
    records,
    storeOf,
    holder,
    namespace,
    policy,
    timers: systemTimers,
    logger,
    metrics,
    concurrency,
  });
  const admin = createAdminServer(metrics.registry, () => records.readiness());
  await listen(admin, { port, address, remedy: "set cleaner.adminPort to another" });
  records.start();
  runner.start();
  logger.info({ adminPort: portOf(admin), holder }, "cleaner runs");
  return async () => {
    const late = new Promise((resolve) => setTimeout(resolve, STOP_WITHIN_MS).unref());
    await Promise.race([runner.stop(), late]);
    await records.stop();
    await client.transport.close();
    closeNow(admin);
  };
}

/** Opens the store of a run. A Secret of credentials that is changed is used from then on; authorities with the next attempt. */
async function storeOpener({
  cleaner: { credentialsDirectory, caFile },
}: CleanerConfig): Promise<ConstructorParameters<typeof CleanupRunner>[0]["storeOf"]> {
  // The SDK takes some 30 MB that no other role is to carry.
  const { createS3Store } = await import("../cleanup/store/s3/s3-store.ts");
  return ({ s3 }) =>
    createS3Store({
      s3,
      ...(credentialsDirectory !== undefined && { credentials: rotatingCredentials(credentialsDirectory) }),
      ...(caFile !== undefined && { ca: readFileSync(caFile, "utf8") }),
    });
}
