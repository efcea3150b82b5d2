import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { isoTime } from "../filters.ts";
import { integer, time } from "../parameters.ts";
import { invalid, Refused } from "../refusals.ts";
import { gateAnswer } from "./answers.ts";
import { knownDestination, rightTo } from "./known.ts";

/** Longest hold, seconds: what is held for longer expires. */
const MAX_HOLD_SECONDS = 30 * 86_400;

const UPDATE = { verb: "update", on: "webhookdestinations/gate" } as const;

/** `POST …/enable`: ends a hold, an open circuit, or being disabled. */
export const enableDestination = endpoint({
  operation: "enableDestination",
  method: "POST",
  path: "/v1/namespaces/{namespace}/destinations/{destination}/enable",
  rights: (call) => rightTo(call, UPDATE),
  handle: async ({ path, directory, custody }) => {
    const { destination } = knownDestination(directory, path);
    const { ledger } = custody(path.namespace);
    const transition = await ledger.enable(destination);
    const changed = transition !== undefined;
    return { body: { changed, gate: gateAnswer(await ledger.gate(destination)) }, audit: { changed } };
  },
});

const seconds = integer(1, MAX_HOLD_SECONDS);

/** `POST …/hold`: nothing is sent to it for a while. */
export const holdDestination = endpoint({
  operation: "holdDestination",
  method: "POST",
  path: "/v1/namespaces/{namespace}/destinations/{destination}/hold",
  body: z.strictObject({ until: time.optional(), forSeconds: seconds.optional() }),
  rights: (call) => rightTo(call, UPDATE),
  handle: async ({ path, body: { until, forSeconds }, directory, custody }) => {
    const { destination } = knownDestination(directory, path);
    const { ledger, statistics } = custody(path.namespace);
    // The store's clock: that is what a hold ends by.
    const now = (await statistics.of([destination])).get(destination)?.at ?? Date.now();
    const end = endOf(until, forSeconds, now);
    if ((await ledger.hold(destination, end)) === undefined) throw new Refused("DestinationDisabled");
    return {
      body: { gate: gateAnswer(await ledger.gate(destination)) },
      audit: { until: isoTime(end) },
    };
  },
});

/** @throws Refused `RequestInvalid` */
function endOf(until: number | undefined, forSeconds: number | undefined, now: number): number {
  const field = until === undefined ? "forSeconds" : "until";
  if ((until === undefined) === (forSeconds === undefined)) {
    throw invalid([{ field: "body", message: "send either until or forSeconds" }]);
  }
  const end = until ?? now + (forSeconds ?? 0) * 1_000;
  if (end > now && end <= now + MAX_HOLD_SECONDS * 1_000) return end;
  throw invalid([{ field, message: "must lie in the next 30 days" }]);
}
