import { z } from "zod";
import { CursorExpired, EventUnreadable, type SequencePage } from "../custody/operations.ts";
import { COPY_STATES } from "../custody/port.ts";
import { endpoint } from "./endpoint.ts";
import type { Right } from "./access.ts";
import { eventAnswer, eventSummary, payload } from "./event-answer.ts";
import { BACKWARD, destination, eventType, isForward, present, SPAN } from "./filters.ts";
import { destinationNamed, routeNamed } from "./naming.ts";
import { gather } from "./pages.ts";
import { cursor, limit, numeral } from "./parameters.ts";
import { Refused } from "./refusals.ts";

/** State of a copy, in a filter. */
export const state = z.enum(COPY_STATES, { error: `must be one of ${COPY_STATES.join(", ")}` });
const include = z.literal("body", { error: "must be body" }).optional();

const ROUTE = "/v1/namespaces/{namespace}/routes/{route}";

interface InRoute {
  readonly path: { readonly namespace: string; readonly route: string };
}

/** Of a route's events, and of their bodies and headers too when these are asked for. */
function reading(verb: "get" | "list") {
  return ({ path, query }: InRoute & { readonly query: { readonly include?: "body" | undefined } }): Right[] => {
    const { namespace, route: name } = path;
    const rights: Right[] = [{ verb, on: "webhookroutes/events", namespace, name }];
    return query.include === undefined
      ? rights
      : [...rights, { verb: "get", on: "webhookroutes/payloads", namespace, name }];
  };
}

/** `GET …/events`: a route's events, newest first. */
export const listEvents = endpoint({
  operation: "listEvents",
  method: "GET",
  path: `${ROUTE}/events`,
  query: z
    .strictObject({
      state: state.optional(),
      destination: destination.optional(),
      eventType: eventType.optional(),
      ...SPAN,
      limit,
      cursor: cursor.optional(),
    })
    .refine(isForward, BACKWARD),
  rights: ({ path: { namespace, route: name } }) => [{ verb: "list", on: "webhookroutes/events", namespace, name }],
  handle: async ({ path: { namespace, route: name }, query, directory, custody }) => {
    const route = routeNamed(directory, namespace, name);
    const { limit: most, cursor: from, destination: named, ...rest } = query;
    const filter = {
      ...present(rest),
      route: route.route,
      ...(named !== undefined && { destination: destinationNamed(named, route, "destination") }),
    };
    const { operations } = custody(namespace);
    const ask = (page: { readonly limit: number; readonly cursor?: string }) =>
      operations.events({ ...filter, ...page });
    return { body: await gather("events", { limit: most, cursor: from }, ask, (event) => eventSummary(event, name)) };
  },
});

/** `GET …/events/{event}`: one event with the log of each copy. */
export const getEvent = endpoint({
  operation: "getEvent",
  method: "GET",
  path: `${ROUTE}/events/{event}`,
  query: z.strictObject({ include }),
  rights: reading("get"),
  handle: async ({ path: { namespace, route: name, event: id }, query, directory, custody }) => {
    const { route } = routeNamed(directory, namespace, name);
    const event = await readable(
      custody(namespace).operations.event(id, { route, bodies: query.include !== undefined }),
    );
    if (event?.route !== route) throw new Refused("NoSuchEvent");
    return { body: eventAnswer(event, name) };
  },
});

/** `GET …/sequence`: list-events, for consumers that reconcile or poll. */
export const listEventsBySequence = endpoint({
  operation: "listEventsBySequence",
  method: "GET",
  path: `${ROUTE}/sequence`,
  query: z.strictObject({
    after: numeral(0, Number.MAX_SAFE_INTEGER).optional(),
    destination: destination.optional(),
    eventType: eventType.optional(),
    include,
    limit,
  }),
  rights: reading("list"),
  handle: async ({ path: { namespace, route: name }, query, directory, custody }) => {
    const route = routeNamed(directory, namespace, name);
    const { destination: named, include: included, ...rest } = query;
    const page = await expiring(
      custody(namespace).operations.eventsAfter({
        ...present(rest),
        route: route.route,
        bodies: included !== undefined,
        ...(named !== undefined && { destination: destinationNamed(named, route, "destination") }),
      }),
    );
    const items = page.items.map((event) => ({ ...eventSummary(event, name), ...payload(event) }));
    const { next, more, unreadable } = page;
    return { body: { items, next, more, unreadable } };
  },
});

/**
 * Says of an event that is there why it is not told.
 * @throws Refused `EventUnreadable`
 */
export async function readable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof EventUnreadable) throw new Refused("EventUnreadable");
    throw error;
  }
}

/** Never a silent gap: whoever comes too late is told from where on all is there. */
async function expiring(asked: Promise<SequencePage>): Promise<SequencePage> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof CursorExpired)) throw error;
    const { message, completeAfter } = error;
    throw new Refused("CursorExpired", { message, fields: { completeAfter } });
  }
}
