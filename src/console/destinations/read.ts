import { z } from "zod";
import type { DestinationStatistics, Statistics } from "../../custody/statistics.ts";
import type { Call } from "../endpoint.ts";
import { endpoint } from "../endpoint.ts";
import type { KnownDestination } from "../directory.ts";
import { demandNamespace } from "../naming.ts";
import { cursor, limit } from "../parameters.ts";
import { statisticsAnswer, summaryAnswer } from "./answers.ts";
import { knownDestination, rightTo } from "./known.ts";

/** Destinations of one script: some milliseconds of the store. */
const CHUNK = 100;

/** `GET …/destinations`: the WebhookDestinations of a namespace by id, each with its state. */
export const listDestinations = endpoint({
  operation: "listDestinations",
  method: "GET",
  path: "/v1/namespaces/{namespace}/destinations",
  query: z.strictObject({ limit, cursor: cursor.optional() }),
  rights: ({ path: { namespace } }) => [{ verb: "list", on: "webhookdestinations/statistics", namespace, name: "" }],
  handle: async ({ path: { namespace }, query: { limit: size, cursor: after = "" }, directory, custody }) => {
    demandNamespace(directory, namespace);
    const left = directory
      .destinations(namespace)
      .filter(({ id }) => id > after)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const page = left.slice(0, size);
    const known = await statisticsOf(custody(namespace).statistics, page);
    const last = page.at(-1);
    return {
      body: {
        items: page.map((one) => summaryAnswer(one, found(known, one))),
        ...(last !== undefined && left.length > page.length && { next: last.id }),
      },
    };
  },
});

/** `GET …/destinations/{destination}`: one WebhookDestination with its statistics. */
export const getDestination = endpoint({
  operation: "getDestination",
  method: "GET",
  path: "/v1/namespaces/{namespace}/destinations/{destination}",
  rights: (call) => rightTo(call, { verb: "get", on: "webhookdestinations/statistics" }),
  handle: async ({ path, directory, custody }) => {
    const known = knownDestination(directory, path);
    return { body: await statisticsBody(custody, known) };
  },
});

/** The statistics of one, as an answer has them. */
export async function statisticsBody(
  custody: Call<unknown, unknown, unknown>["custody"],
  known: KnownDestination,
): Promise<object> {
  const statistics = await statisticsOf(custody(known.namespace).statistics, [known]);
  return statisticsAnswer(known, found(statistics, known));
}

async function statisticsOf(
  statistics: Statistics,
  destinations: readonly KnownDestination[],
): Promise<ReadonlyMap<string, DestinationStatistics>> {
  const known = new Map<string, DestinationStatistics>();
  for (let at = 0; at < destinations.length; at += CHUNK) {
    const names = destinations.slice(at, at + CHUNK).map(({ destination }) => destination);
    // oxlint-disable-next-line no-await-in-loop -- others get a word in between
    for (const [name, one] of await statistics.of(names)) known.set(name, one);
  }
  return known;
}

function found(known: ReadonlyMap<string, DestinationStatistics>, { destination }: KnownDestination) {
  const statistics = known.get(destination);
  if (statistics === undefined) throw new RangeError(`no statistics of ${destination}`);
  return statistics;
}
