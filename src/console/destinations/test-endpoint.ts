import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { routeName, text } from "../parameters.ts";
import { knownDestination, rightTo } from "./known.ts";
import { sendTestEvent } from "./test-event.ts";

/** Deepest nesting of an event's data: what is written and read by recursion ends somewhere. */
const MOST_DEPTH = 100;

function isShallow(data: unknown): boolean {
  let level = [data].filter(isNest);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === MOST_DEPTH) return false;
    level = level.flatMap((nest) => Object.values(nest).filter(isNest));
  }
  return true;
}

function isNest(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Body of a call for a test event. */
export const testBody = z.strictObject({
  route: routeName.optional(),
  eventType: text("must be a text of 1 to 128 characters", 128).optional(),
  data: z
    .unknown()
    .optional()
    .refine(isShallow, { error: `is nested more than ${MOST_DEPTH} deep` }),
});

/** `POST …/test`: sends an event to one destination and nowhere else. */
export const testDestination = endpoint({
  operation: "testDestination",
  method: "POST",
  path: "/v1/namespaces/{namespace}/destinations/{destination}/test",
  body: testBody,
  rights: (call) => rightTo(call, { verb: "create", on: "webhookdestinations/test" }),
  handle: async ({ path, body, directory, custody }) => {
    const known = knownDestination(directory, path);
    const sent = await sendTestEvent({ directory, custody }, known, body);
    return { status: 202, body: sent, audit: { event: sent.id } };
  },
});
