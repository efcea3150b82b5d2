import type { HttpSender } from "../egress/http-sender.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import type { Attempt } from "./attempt.ts";
import type { WorkerDestination } from "./destinations.ts";
import { outgoingHeaders, outgoingTarget, type OutgoingTarget } from "./outgoing.ts";

/** An attempt that POSTs the event's bytes to the destination's URL. */
export function createHttpAttempt(sender: HttpSender, clock: Clock = systemClock): Attempt {
  const targets = new WeakMap<WorkerDestination, OutgoingTarget>();
  const targetOf = (destination: WorkerDestination, url: string): OutgoingTarget => {
    const known = targets.get(destination);
    if (known !== undefined) return known;
    const target = outgoingTarget(destination, url);
    targets.set(destination, target);
    return target;
  };
  return (copy, destination, context) => {
    const to = destination.entry.target;
    if (to.type !== "http") {
      return Promise.resolve({ type: "error", code: "no_handler", durationMs: 0 });
    }
    const target = targetOf(destination, to.url);
    const headers = outgoingHeaders(target, copy, clock.now());
    if (headers === undefined) return Promise.resolve({ type: "notSent" });
    return sender.send({
      origin: target.origin,
      way: target.way,
      path: target.path,
      method: "POST",
      headers,
      body: copy.body,
      timeoutMs: destination.entry.timeoutMs,
      beforeWrite: context.beforeWrite,
      signal: context.signal,
    });
  };
}
