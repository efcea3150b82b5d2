import { z } from "zod";
import { EventUnreadable, type SequencedEvent } from "../../custody/operations.ts";
import type { CopyState, CopyView, EventView } from "../../custody/port.ts";
import type { Custody } from "../endpoint.ts";
import { attemptAnswer, copySummary } from "../event-answer.ts";
import { state } from "../events.ts";
import { BACKWARD, eventType, isForward, isoTime, present, SPAN } from "../filters.ts";
import { cursorOf, positionOf } from "../pages.ts";
import { cursor, numeral, routeName } from "../parameters.ts";
import { Refused } from "../refusals.ts";
import { own, OwnRoutes } from "./holder.ts";
import { mergedPage } from "./merge.ts";

const limit = numeral(1, 100).default(50);
const include = z.literal("body", { error: "must be body" }).optional();

/** `GET /v1/deliveries`: what was, or is to be, delivered to the destination, newest first. */
export const listDeliveries = own({
  operation: "listDeliveries",
  method: "GET",
  path: "/v1/deliveries",
  query: z
    .strictObject({
      route: routeName.optional(),
      state: state.optional(),
      eventType: eventType.optional(),
      ...SPAN,
      limit,
      cursor: cursor.optional(),
    })
    .refine(isForward, BACKWARD),
  handle: async ({ caller: { destination: known }, query, directory, custody }) => {
    const { route: name, limit: most, cursor: from, ...rest } = query;
    const { namespace, destination } = known;
    const routes = new OwnRoutes(directory, known);
    const keys = name === undefined ? routes.all.map(({ route }) => route) : [routes.named(name).route];
    const { operations } = custody(namespace);
    const filter = { ...present(rest), destination };
    const page = await mergedPage(keys, { limit: most, position: positionOf("deliveries", from) }, (route, one) =>
      operations.events({ ...filter, ...one, route }),
    );
    const items = page.items.flatMap((event) => {
      const copy = ownCopy(event, destination);
      return copy === undefined ? [] : [deliverySummary(event, copy, routes)];
    });
    return { body: { items, ...(page.next !== undefined && { next: cursorOf("deliveries", page.next) }) } };
  },
});

/** `GET /v1/deliveries/{event}`: one of them with its log. */
export const getDelivery = own({
  operation: "getDelivery",
  method: "GET",
  path: "/v1/deliveries/{event}",
  query: z.strictObject({ include }),
  handle: async ({ caller: { destination: known }, path, query, directory, custody }) => {
    const { namespace, destination } = known;
    const bodies = query.include === "body";
    const { event, copy } = await ownEvent(custody(namespace), { id: path.event, destination, bodies });
    const routes = new OwnRoutes(directory, known);
    return {
      body: {
        ...deliverySummary(event, copy, routes),
        log: copy.attempts.map(attemptAnswer),
        ...(bodies && KEEPS_BODY.has(copy.state) && payloadOf(event)),
      },
    };
  },
});

/** `POST /v1/deliveries/{event}/replay`: sends one that was given up again. */
export const replayDelivery = own({
  operation: "replayDelivery",
  method: "POST",
  path: "/v1/deliveries/{event}/replay",
  handle: async ({ caller: { destination: known }, path: { event: id }, custody }) => {
    const { namespace, destination } = known;
    await ownEvent(custody(namespace), { id, destination, bodies: false });
    const { replayed } = await custody(namespace).ledger.replay(id, destination);
    return { body: { replayed: replayed > 0 }, audit: { replayed } };
  },
});

/** States in which a copy has its event's body kept by itself. In any other one the body is there for the sake of others' copies, or not at all. */
const KEEPS_BODY: ReadonlySet<CopyState> = new Set([
  "waiting",
  "active",
  "delayed",
  "shelved",
  "dead",
  "cancelled",
  "expired",
]);

function ownCopy({ copies }: EventView, destination: string): CopyView | undefined {
  return copies.find((copy) => copy.destination === destination);
}

/** @throws Refused `NoSuchEvent`, also for an event that went to others only */
async function ownEvent(
  { operations }: Custody,
  { id, destination, bodies }: { readonly id: string; readonly destination: string; readonly bodies: boolean },
): Promise<{ readonly event: SequencedEvent; readonly copy: CopyView }> {
  const event = await hidden(operations.event(id, { bodies }));
  const copy = event && ownCopy(event, destination);
  if (event === undefined || copy === undefined) {
    throw new Refused("NoSuchEvent", { message: "there is no such delivery, or it is no longer kept" });
  }
  return { event, copy };
}

/** Whose an event is that cannot be read is not known: a holder is told nothing of it. */
async function hidden<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof EventUnreadable) return undefined;
    throw error;
  }
}

/** Of the event only what its own delivery says; nothing of other copies, and nothing that is counted over all of them. */
function deliverySummary(
  { id, route, receivedAt, sequence, eventType: type }: EventView,
  copy: CopyView,
  routes: OwnRoutes,
): object {
  return {
    id,
    route: routes.nameOf(route),
    receivedAt: isoTime(receivedAt),
    sequence,
    ...(type !== undefined && { eventType: type }),
    ...copySummary(copy),
  };
}

/** The body as it is sent. Headers that came in are not: which of them go out is the delivery's affair. */
function payloadOf({ headers, body }: SequencedEvent): object {
  const type = headers?.["content-type"];
  return { ...(type !== undefined && { contentType: type }), ...(body && { body: body.toString("base64") }) };
}
