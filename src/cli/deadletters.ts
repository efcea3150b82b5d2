import type { DeadLetterEntry, DeadLetterFilter } from "../custody/operations.ts";
import { type Command, type Io, outputFormat, parse, printJson, wholeNumber } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody } from "./custody-access.ts";
import { time } from "./event-story.ts";
import { LETTER_OPTIONS, LETTER_USAGE, letterPlaces, type Place } from "./operations/filters.ts";
import { table } from "./table.ts";

const USAGE = `davit deadletters [filters] [--limit N] [-o table|json] [flags]

Lists events that were given up, the oldest death first. davit replay EVENT_ID sends one again, davit replay with the same filters all of them, and
davit discard takes them away.
${LETTER_USAGE}
  --limit N            of each route or namespace; default 100
${ACCESS_USAGE}
`;

/** `davit deadletters`: what was given up, and why. */
export const command: Command = {
  name: "deadletters",
  summary: "list events that were given up, and why",
  usage: USAGE,
  async run(argv, io) {
    const { values } = parse(argv, {
      ...ACCESS_OPTIONS,
      ...LETTER_OPTIONS,
      limit: { type: "string", default: "100" },
      output: { type: "string", short: "o" },
    });
    const format = outputFormat(values.output);
    const limit = wholeNumber("--limit", values.limit, [1, 10_000]);
    const access = await openCustody(values);
    try {
      const places = letterPlaces(access, values, Date.now());
      const letters = await Promise.all(places.map((place) => find(access, place, limit)));
      print(
        io,
        access,
        format,
        letters.flat().toSorted((a, b) => a.diedAt - b.diedAt),
      );
      return 0;
    } finally {
      access.close();
    }
  },
};

async function find(
  access: CustodyAccess,
  { namespace, filter }: Place<DeadLetterFilter>,
  limit: number,
): Promise<readonly DeadLetterEntry[]> {
  const found: DeadLetterEntry[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...filter, limit: limit - found.length, ...(cursor !== undefined && { cursor }) };
    const page = await access.operations(namespace).deadLetters(query);
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && found.length < limit);
  return found;
}

function print(io: Io, access: CustodyAccess, format: "table" | "json", letters: readonly DeadLetterEntry[]): void {
  if (format === "json") {
    printJson(
      io,
      letters.map((letter) => ({
        ...letter,
        route: access.routeName(letter.route),
        destination: access.destinationName(letter.destination),
      })),
    );
    return;
  }
  const rows = letters.map(({ eventId, destination, diedAt, reason, failureContext }) => [
    eventId,
    access.destinationName(destination),
    time(diedAt),
    reason,
    String(failureContext.attempts),
    failureContext.lastError,
  ]);
  io.stdout.write(table(["EVENT ID", "DESTINATION", "DIED", "REASON", "ATTEMPTS", "LAST ERROR"], rows));
}
