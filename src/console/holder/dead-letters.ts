import { z } from "zod";
import type { DeadLetterEntry, DeadLetterFilter } from "../../custody/operations.ts";
import type { Directory, KnownDestination } from "../directory.ts";
import { BACKWARD, isForward, isoTime, LETTERS, type NamedFilter, present } from "../filters.ts";
import { gather, positionOf } from "../pages.ts";
import { cursor, numeral } from "../parameters.ts";
import { invalid } from "../refusals.ts";
import { own, OwnRoutes } from "./holder.ts";

const { destination: _destination, ...OWN_LETTERS } = LETTERS;

/** Fields that choose some of the holder's dead letters. */
export const LETTER_FIELDS = OWN_LETTERS;

const limit = numeral(1, 100).default(50);

/**
 * A holder's filter in the names of custody: whatever it says, it is about their destination.
 * @param at where its fields stand, for the message
 * @throws Refused `RequestInvalid`
 */
export function ownFilter(
  directory: Directory,
  known: KnownDestination,
  { route, ...rest }: Omit<NamedFilter, "destination">,
  at = "",
): DeadLetterFilter {
  const key = route === undefined ? undefined : new OwnRoutes(directory, known).named(route, `${at}route`).route;
  return { ...present(rest), ...(key !== undefined && { route: key }), destination: known.destination };
}

/** `GET /v1/dead-letters`: what was given up and why, the oldest death first. */
export const listOwnDeadLetters = own({
  operation: "listOwnDeadLetters",
  method: "GET",
  path: "/v1/dead-letters",
  query: z.strictObject({ ...OWN_LETTERS, limit, cursor: cursor.optional() }).refine(isForward, BACKWARD),
  handle: async ({ caller: { destination: known }, query, directory, custody }) => {
    const { limit: most, cursor: from, ...named } = query;
    const filter = ownFilter(directory, known, named);
    demandOwn(from, known);
    const { operations } = custody(known.namespace);
    const routes = new OwnRoutes(directory, known);
    const page = await gather(
      "deadLetters",
      { limit: most, cursor: from },
      (one) => operations.deadLetters({ ...filter, ...one }),
      (letter) => letterAnswer(letter, routes),
    );
    return { body: page };
  },
});

/** `GET /v1/dead-letters/count`: how many a replay would take now. */
export const countOwnDeadLetters = own({
  operation: "countOwnDeadLetters",
  method: "GET",
  path: "/v1/dead-letters/count",
  query: z.strictObject(OWN_LETTERS).refine(isForward, BACKWARD),
  handle: async ({ caller: { destination: known }, query, directory, custody }) => {
    const filter = ownFilter(directory, known, query);
    return { body: { ...(await custody(known.namespace).operations.countDeadLetters(filter)) } };
  },
});

/** A position names a dead letter: one of another destination is none here. @throws Refused `RequestInvalid` */
function demandOwn(cursorText: string | undefined, { destination }: KnownDestination): void {
  const position = positionOf("deadLetters", cursorText);
  if (position === undefined || position.slice(position.indexOf("|") + 1) === destination) return;
  throw invalid([{ field: "cursor", message: "must be `next` of the page before; begin anew without it" }]);
}

function letterAnswer(letter: DeadLetterEntry, routes: OwnRoutes): object {
  const { eventId, route, diedAt, receivedAt, sequence, reason, eventType, failureContext } = letter;
  return {
    id: eventId,
    route: routes.nameOf(route),
    diedAt: isoTime(diedAt),
    receivedAt: isoTime(receivedAt),
    sequence,
    reason,
    ...(eventType !== undefined && { eventType }),
    failureContext,
  };
}
