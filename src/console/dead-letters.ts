import { z } from "zod";
import type { DeadLetterEntry } from "../custody/operations.ts";
import type { Right } from "./access.ts";
import { actedAnswer, previewAnswer } from "./acted.ts";
import { endpoint } from "./endpoint.ts";
import { auditFilter, BACKWARD, custodyFilter, isForward, isoTime, LETTERS } from "./filters.ts";
import { destinationName, routeNames } from "./naming.ts";
import { gather, positionOf } from "./pages.ts";
import { cursor, limit } from "./parameters.ts";

const PLACE = "/v1/namespaces/{namespace}/dead-letters";

const filter = z.strictObject(LETTERS).refine(isForward, BACKWARD);
const preview = z.boolean({ error: "must be true or false" }).default(false);

interface Chosen {
  readonly namespace: string;
  /** Absent: those of all routes, which is a right to all of them. */
  readonly route?: string | undefined;
}

const on = (verb: Right["verb"], { namespace, route = "" }: Chosen): Right[] => [
  { verb, on: "webhookroutes/deadletters", namespace, name: route },
];

/** `GET …/dead-letters`: what was given up and why, the oldest death first. */
export const listDeadLetters = endpoint({
  operation: "listDeadLetters",
  method: "GET",
  path: PLACE,
  query: z.strictObject({ ...LETTERS, limit, cursor: cursor.optional() }).refine(isForward, BACKWARD),
  rights: ({ path: { namespace }, query: { route } }) => on("list", { namespace, route }),
  handle: async ({ path: { namespace }, query, directory, custody }) => {
    const { limit: most, cursor: from, ...named } = query;
    const chosen = custodyFilter({ directory, namespace }, named);
    const { operations } = custody(namespace);
    const ask = (page: { readonly limit: number; readonly cursor?: string }) =>
      operations.deadLetters({ ...chosen, ...page });
    const nameOf = routeNames(directory, namespace);
    const page = { limit: most, cursor: from };
    return { body: await gather("deadLetters", page, ask, (letter) => letterAnswer(letter, nameOf(letter.route))) };
  },
});

/** `GET …/dead-letters/count`: how many a replay or a discard would take now. */
export const countDeadLetters = endpoint({
  operation: "countDeadLetters",
  method: "GET",
  path: `${PLACE}/count`,
  query: filter,
  rights: ({ path: { namespace }, query: { route } }) => on("list", { namespace, route }),
  handle: async ({ path: { namespace }, query, directory, custody }) => {
    const chosen = custodyFilter({ directory, namespace }, query);
    return { body: { ...(await custody(namespace).operations.countDeadLetters(chosen)) } };
  },
});

/** `POST …/dead-letters/discard`: takes all that fit away, for 24 h into a bin. */
export const discardDeadLetters = endpoint({
  operation: "discardDeadLetters",
  method: "POST",
  path: `${PLACE}/discard`,
  body: z.strictObject({ filter, preview, cursor: cursor.optional() }),
  rights: ({ path: { namespace }, body }) => on("delete", { namespace, route: body.filter.route }),
  handle: async ({ path: { namespace }, body, directory, custody }) => {
    const selection = selected(body, custodyFilter({ directory, namespace }, body.filter, "filter."));
    const { operations } = custody(namespace);
    if (body.preview) return previewAnswer(await operations.countDeadLetters(selection.filter));
    const { audit, ...answer } = actedAnswer(await operations.discard(selection), "deadLetters");
    return { ...answer, audit: { ...audit, filter: auditFilter(body.filter) } };
  },
});

/** `POST …/dead-letters/restore`: makes discarded copies that fit dead letters again. */
export const restoreDeadLetters = endpoint({
  operation: "restoreDeadLetters",
  method: "POST",
  path: `${PLACE}/restore`,
  body: z.strictObject({ filter, cursor: cursor.optional() }),
  rights: ({ path: { namespace }, body }) => on("delete", { namespace, route: body.filter.route }),
  handle: async ({ path: { namespace }, body, directory, custody }) => {
    const selection = selected(body, custodyFilter({ directory, namespace }, body.filter, "filter."));
    const { audit, ...answer } = actedAnswer(await custody(namespace).operations.restore(selection), "deadLetters");
    return { ...answer, audit: { ...audit, filter: auditFilter(body.filter) } };
  },
});

function selected<F>(body: { readonly cursor?: string | undefined }, chosen: F) {
  const position = positionOf("deadLetters", body.cursor);
  return { filter: chosen, ...(position !== undefined && { cursor: position }) };
}

function letterAnswer(letter: DeadLetterEntry, route: string | null): object {
  const { eventId, destination, diedAt, receivedAt, sequence, reason, eventType, failureContext } = letter;
  return {
    eventId,
    route,
    destination: destinationName(destination),
    diedAt: isoTime(diedAt),
    receivedAt: isoTime(receivedAt),
    sequence,
    reason,
    ...(eventType !== undefined && { eventType }),
    failureContext,
  };
}
