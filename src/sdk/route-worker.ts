import { loadConfig } from "../config/load.ts";
import type { Attempt } from "../delivery/attempt.ts";
import { ClusterWorker } from "../delivery/cluster/cluster-worker.ts";
import { portOf } from "../lib/listen.ts";
import { stopSignals } from "../lib/stop-signals.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import { createMetrics, type Metrics } from "../observability/metrics.ts";

/**
 * Attaches to the route of this Pod: what `davit worker` does, with a handler in place of requests.
 *
 * @param file the config, of `DAVIT_CONFIG`
 * @returns takes no signal any more once it is closed
 * @throws ConfigError, KubeConfigError, ListenError
 */
export async function startRouteWorker(
  file: string,
  attempt: Attempt,
  options: { readonly logger?: Logger; readonly metrics?: Metrics },
): Promise<{ close(): Promise<void> }> {
  const config = loadConfig(file, process.env);
  const { configName, namespace } = config.worker;
  const logger = (options.logger ?? createLogger("worker", { level: config.logLevel })).child({
    namespace,
    worker: configName,
  });
  const worker = new ClusterWorker({ config, attempt, metrics: options.metrics ?? createMetrics(), logger });
  const signals = stopSignals();
  const close = async () => {
    await worker.stop();
    signals.release();
  };
  signals.signal.addEventListener("abort", () => {
    // The process is this worker's: whatever else its owner left open must not keep the Pod until it is killed.
    void close().finally(() => setImmediate(() => process.exit(0)));
  });
  try {
    await worker.start();
  } catch (error) {
    await close();
    throw error;
  }
  logger.info({ adminPort: portOf(worker.admin) }, "worker runs");
  return { close };
}
