import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { routeName, text } from "../parameters.ts";
import { knownDestination, rightTo } from "./known.ts";
import { sendTestEvent } from "./test-event.ts";

/** Body of a call for a test event. */
export const testBody = z.strictObject({
  route: routeName.optional(),
  eventType: text("must be a text of 1 to 128 characters", 128).optional(),
  data: z.unknown().optional(),
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
