// A worker as a process of its own: the real one, with a trap at the named kill point.
import type { Outbox, Settle, TurnRequest } from "../../../src/custody/port.ts";
import { RedisStore } from "../../../src/custody/redis/store.ts";
import type { Attempt } from "../../../src/delivery/attempt.ts";
import { workerDestinations } from "../../../src/delivery/worker-destinations.ts";
import { createHttpAttempt } from "../../../src/delivery/http-attempt.ts";
import { Worker } from "../../../src/delivery/worker.ts";
import { loopbackSender } from "../loopback-sender.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { chainRoute } from "./route.ts";
import { chainSettings, die } from "./settings.ts";

const settings = chainSettings();
const { killAt, timeoutMs = 2_000, concurrency = 32 } = settings;
const base = chainRoute(settings.sinkUrl, { destination: { timeoutMs, concurrency } });
const [destination] = base.destinations;
if (destination === undefined) throw new Error("the chain's route has no destination");
const retry = settings.delaysMs
  ? { ...destination.retry, type: "schedule" as const, delaysMs: settings.delaysMs, jitter: 0 }
  : destination.retry;
const route = { ...base, destinations: [{ ...destination, retry }] };

const store = new RedisStore({ url: settings.redisUrl });
await store.start();
const destinations = workerDestinations([route]);
const policies = () => [...destinations.values()].map(({ policy }) => policy.policy);
const real = store.outbox({ instance: "default", namespace: route.namespace }, { policies });

const has = ({ settles }: TurnRequest, outcome: Settle["outcome"]) =>
  settles.some((settle) => settle.outcome === outcome);

const outbox: Outbox = {
  async turn(request) {
    if (killAt === "received-not-settled" && has(request, "delivered")) die();
    if (killAt === "moving-to-dead" && has(request, "dead")) {
      // The script is on its way, its answer never arrives.
      void real.turn(request).catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
      die();
    }
    return real.turn(request);
  },
  async done(ticket, policy) {
    const answer = await real.done(ticket, policy);
    if (killAt === "done-ticket-open" && answer === "idle") die();
    return answer;
  },
  yield: (ticket) => real.yield(ticket),
  postpone: (ticket, delayMs) => real.postpone(ticket, delayMs),
  lookAgain: (ids) => real.lookAgain(ids),
  widen: (name, slots) => real.widen(name, slots),
  start: (handlers) => real.start(handlers),
};

const http = createHttpAttempt(loopbackSender());
const attempt: Attempt = (copy, to, context) =>
  http(copy, to, {
    ...context,
    beforeWrite: () => {
      const may = context.beforeWrite();
      // Long enough for the bytes to leave, too short for the sink's answer to be used.
      if (may && killAt === "request-sent") setTimeout(die, 5);
      return may;
    },
  });

const worker = new Worker({
  outbox,
  attempt,
  destinations,
  logger: createLogger("worker", { level: process.env["DAVIT_LOG_LEVEL"] ?? "error" }),
});
await worker.start();
process.send?.("ready");
process.once("SIGTERM", () => {
  void worker.stop().then(() => process.exit(0));
});
