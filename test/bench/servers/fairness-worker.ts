// A worker of a namespace as `davit worker` composes it, with the destinations of a plan. It starts and stops when asked.
import { RedisStore } from "../../../src/custody/redis/store.ts";
import { createHttpAttempt } from "../../../src/delivery/http-attempt.ts";
import { NamespaceWorker } from "../../../src/delivery/namespace-worker.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { loopbackSender } from "../../support/loopback-sender.ts";
import { serve } from "../child.ts";
import { type FairnessSettings, planDestinations, scopeOf } from "../fairness/plan.ts";
import { childSettings } from "../settings.ts";

const { redisUrl, sinkUrl = "", namespace, groups } = childSettings() as FairnessSettings;
const store = new RedisStore({ url: redisUrl });
await store.start();
const worker = new NamespaceWorker({
  store,
  scope: scopeOf(namespace),
  attempt: createHttpAttempt(loopbackSender()),
  destinations: planDestinations(groups, sinkUrl),
  logger: createLogger("worker"),
  metrics: createMetrics(),
});

serve("ready", async (order: "start" | "stop") => {
  await (order === "start" ? worker.start() : worker.stop());
  return order;
});
