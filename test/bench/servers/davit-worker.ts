// Davit's worker with gate, attempt log, signing, logs and metrics, as `davit worker` composes it. It starts when asked.
import { RedisStore } from "../../../src/custody/redis/store.ts";
import { workerDestinations } from "../../../src/delivery/worker-destinations.ts";
import { createHttpAttempt } from "../../../src/delivery/http-attempt.ts";
import { Worker } from "../../../src/delivery/worker.ts";
import { loopbackSender } from "../../support/loopback-sender.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { serve } from "../child.ts";
import { benchRoute, childSettings, NAMESPACE } from "../settings.ts";

const { redisUrl, sinkUrl = "" } = childSettings();
const store = new RedisStore({ url: redisUrl });
await store.start();
const destinations = workerDestinations([benchRoute(sinkUrl)]);
const outbox = store.outbox(
  { instance: "default", namespace: NAMESPACE },
  { policies: () => [...destinations.values()].map(({ policy }) => policy.policy) },
);
const worker = new Worker({
  outbox,
  attempt: createHttpAttempt(loopbackSender()),
  destinations,
  logger: createLogger("worker"),
  metrics: createMetrics(),
});

serve("ready", async (_order: unknown) => {
  await worker.start();
  return "started";
});
