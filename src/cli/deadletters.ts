import type { DeadLetter } from "../custody/port.ts";
import { type Command, type Io, outputFormat, parse, printJson, wholeNumber } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody, routesNamed } from "./custody-access.ts";
import { time } from "./event-story.ts";
import { table } from "./table.ts";

const USAGE = `davit deadletters [--route NAME] [--limit N] [-o table|json] [flags]

Lists events that were given up, the oldest death first. davit replay EVENT_ID sends one again.

  --route NAME         of this route only: name, namespace/name, or the 16-digit route key
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
      route: { type: "string" },
      limit: { type: "string", default: "100" },
      output: { type: "string", short: "o" },
    });
    const format = outputFormat(values.output);
    const limit = wholeNumber("--limit", values.limit, [1, 1_000]);
    const access = await openCustody(values);
    try {
      print(io, access, format, await find(access, values.route, limit));
      return 0;
    } finally {
      access.close();
    }
  },
};

async function find(access: CustodyAccess, route: string | undefined, limit: number): Promise<readonly DeadLetter[]> {
  const pages =
    route === undefined
      ? access.namespaces.map((namespace) => access.ledger(namespace).deadLetters({ limit }))
      : routesNamed(access, route).map((one) => access.ledger(one.namespace).deadLetters({ route: one.route, limit }));
  return (await Promise.all(pages)).flatMap(({ items }) => items).toSorted((a, b) => a.diedAt - b.diedAt);
}

function print(io: Io, access: CustodyAccess, format: "table" | "json", letters: readonly DeadLetter[]): void {
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
  const rows = letters.map(({ eventId, destination, diedAt, failureContext }) => [
    eventId,
    access.destinationName(destination),
    time(diedAt),
    String(failureContext.attempts),
    failureContext.lastError,
  ]);
  io.stdout.write(table(["EVENT ID", "DESTINATION", "DIED", "ATTEMPTS", "LAST ERROR"], rows));
}
