import { type Command, type Io, outputFormat, parse, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody } from "./custody-access.ts";
import { isRestricted, LETTER_OPTIONS, LETTER_USAGE, letterPlaces } from "./operations/filters.ts";
import { namedCopies, whyNothing } from "./operations/one-event.ts";
import { replayMany } from "./replay/bulk.ts";
import { list, steer, STEERING } from "./replay/steer.ts";

const USAGE = `davit replay EVENT_ID [--destination NAME] [flags]
       davit replay filters [--rate N] [--dry-run] [--detach] [--key KEY] [flags]
       davit replay list | status ID | pause ID | resume ID | cancel ID [-o table|json] [flags]

Sends dead letters again, under the same event ids and with a fresh budget of attempts. With filters, workers do it at the given rate, and it goes on
when this command ends. Exit code 1: nothing was dead, or the replay was cancelled.
${LETTER_USAGE}
  --all                every dead letter
  --rate N             copies a second at most; default 500
  --dry-run            only say how many there are
  --detach             do not wait for the end
  --key KEY            a second call with this key and the same filters follows the first one's replay: with it the times must be written as dates
  -o, --output FORMAT  of list and status: table or json
${ACCESS_USAGE}
`;

const OPTIONS = {
  ...ACCESS_OPTIONS,
  ...LETTER_OPTIONS,
  all: { type: "boolean", default: false },
  rate: { type: "string" },
  key: { type: "string" },
  "dry-run": { type: "boolean", default: false },
  detach: { type: "boolean", default: false },
  output: { type: "string", short: "o" },
} as const;

type Values = ReturnType<typeof parse<typeof OPTIONS>>["values"];

/** `davit replay`: makes dead letters live again, one or many. */
export const command: Command = {
  name: "replay",
  summary: "send dead letters again, one or many",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(argv, OPTIONS, 2);
    const action = actionOf(values, positionals);
    const access = await openCustody(values);
    try {
      return await action(access, io);
    } finally {
      access.close();
    }
  },
};

type Action = (access: CustodyAccess, io: Io) => Promise<number>;

function actionOf(values: Values, [first, second]: readonly string[]): Action {
  if (first === undefined) return many(values);
  const format = outputFormat(values.output);
  if (STEERING.has(first)) {
    if (second === undefined) throw new UsageError(`name the replay to ${first}; davit replay list shows them`);
    return (access, io) => steer(access, { verb: first, id: second, format }, io);
  }
  if (second !== undefined) throw new UsageError(`unexpected argument "${second}"`);
  if (first === "list") return (access, io) => list(access, format, io);
  return (access, io) => one(access, first.toUpperCase(), values.destination, io);
}

function many(values: Values): Action {
  if (!values.all && !isRestricted(values)) {
    throw new UsageError("name the event's id (davit deadletters lists them), a filter, or --all");
  }
  return (access, io) => replayMany(access, letterPlaces(access, values, Date.now()), values, io);
}

async function one(access: CustodyAccess, id: string, destination: string | undefined, io: Io): Promise<number> {
  const found = await namedCopies(access, id, destination);
  let replayed = 0;
  for (const named of found?.destinations ?? []) {
    replayed += (await access.ledger(found?.namespace ?? "").replay(id, named)).replayed;
  }
  const why = `nothing replayed: ${whyNothing(found, destination, "dead")}`;
  io.stdout.write(`${id}: ${replayed > 0 ? `replayed to ${replayed} destination(s)` : why}\n`);
  return replayed > 0 ? 0 : 1;
}
