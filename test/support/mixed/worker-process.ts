// A worker of all mixed destinations, as a process of its own.
import { RedisStore } from "../../../src/custody/redis/store.ts";
import { createHttpAttempt } from "../../../src/delivery/http-attempt.ts";
import { Worker } from "../../../src/delivery/worker.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { loopbackSender } from "../loopback-sender.ts";
import { ROUTES } from "../shared/settings.ts";
import { asConfigured, type MixedSettings } from "./settings.ts";

const settings = JSON.parse(process.env["MIXED"] ?? "{}") as MixedSettings;
const store = new RedisStore({ url: settings.redisUrl });
await store.start();
const worker = new Worker({
  outbox: store.outbox({ instance: "default", namespace: settings.namespace }, { policies: () => ROUTES }),
  attempt: createHttpAttempt(loopbackSender()),
  destinations: asConfigured(settings, true),
  logger: createLogger("worker", { level: process.env["MIXED_LOG"] ?? "error" }),
});
await worker.start();
process.send?.("ready");
