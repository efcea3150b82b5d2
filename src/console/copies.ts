import { z } from "zod";
import { actedAnswer, previewAnswer } from "./acted.ts";
import { endpoint } from "./endpoint.ts";
import { auditFilter, BACKWARD, COPIES, custodyFilter, isForward } from "./filters.ts";
import { positionOf } from "./pages.ts";
import { cursor } from "./parameters.ts";

const NEITHER = { error: "name `route` or `destination`", path: ["route"] };

const filter = z
  .strictObject(COPIES)
  .refine(isForward, BACKWARD)
  .refine(({ route, destination }) => route !== undefined || destination !== undefined, NEITHER);

/** `POST …/copies/cancel`: ends waiting and delayed copies that fit, for good. */
export const cancelCopies = endpoint({
  operation: "cancelCopies",
  method: "POST",
  path: "/v1/namespaces/{namespace}/copies/cancel",
  body: z.strictObject({
    filter,
    preview: z.boolean({ error: "must be true or false" }).default(false),
    cursor: cursor.optional(),
  }),
  rights: ({ path: { namespace }, body }) => [
    { verb: "delete", on: "webhookroutes/events", namespace, name: body.filter.route ?? "" },
  ],
  handle: async ({ path: { namespace }, body, directory, custody }) => {
    const chosen = custodyFilter({ directory, namespace }, body.filter, "filter.");
    const position = positionOf("copies", body.cursor);
    const { operations } = custody(namespace);
    if (body.preview) return previewAnswer(await operations.countCancellable(chosen));
    const selection = { filter: chosen, ...(position !== undefined && { cursor: position }) };
    const { audit, ...answer } = actedAnswer(await operations.cancel(selection), "copies");
    return { ...answer, audit: { ...audit, filter: auditFilter(body.filter) } };
  },
});
