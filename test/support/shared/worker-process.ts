// A worker of destinations that several routes share, as a process of its own, with a trap at a step.
import type { Outbox } from "../../../src/custody/port.ts";
import { RedisStore } from "../../../src/custody/redis/store.ts";
import type { Attempt } from "../../../src/delivery/attempt.ts";
import { createHttpAttempt } from "../../../src/delivery/http-attempt.ts";
import { Worker } from "../../../src/delivery/worker.ts";
import { loopbackSender } from "../loopback-sender.ts";
import { ROUTES, type SharedSettings, sharedDestinations, type Step } from "./settings.ts";

const { redisUrl, namespace, url, trap } = JSON.parse(process.env["SHARED"] ?? "{}") as SharedSettings;
let left = trap?.nth ?? 0;

function at(step: Step): void {
  if (trap?.step !== step) return;
  left -= 1;
  if (left !== 0) return;
  if (trap.signal === "SIGSTOP") process.send?.("stopped");
  process.kill(process.pid, trap.signal);
}

const store = new RedisStore({ url: redisUrl });
await store.start();
const real = store.outbox({ instance: "default", namespace }, { policies: () => ROUTES });
const outbox: Outbox = {
  async turn(request) {
    if (request.settles.length > 0) at("settling");
    const answer = real.turn(request);
    // The command is on its way by then.
    setImmediate(() => at("turn-sent"));
    const result = await answer;
    at("turn-answered");
    return result;
  },
  async done(ticket, policy) {
    const answer = real.done(ticket, policy);
    setImmediate(() => at("done-sent"));
    const result = await answer;
    at("done-answered");
    return result;
  },
  yield: (ticket) => real.yield(ticket),
  postpone: (ticket, delayMs) => real.postpone(ticket, delayMs),
  lookAgain: (destinations) => real.lookAgain(destinations),
  widen: (name, slots) => real.widen(name, slots),
  start: (handlers) => real.start(handlers),
};

const http = createHttpAttempt(loopbackSender());
const attempt: Attempt = async (copy, to, context) => {
  const result = await http(copy, to, {
    ...context,
    beforeWrite: () => {
      at("before-write");
      const may = context.beforeWrite();
      if (may) setTimeout(() => at("written"), 3);
      return may;
    },
  });
  at("response");
  return result;
};

const worker = new Worker({ outbox, attempt, destinations: sharedDestinations(url, true) });
await worker.start();
process.once("SIGTERM", () => {
  void worker.stop().then(() => process.exit(0));
});
