import { type Command, parse, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody } from "./custody-access.ts";

const USAGE = `davit replay EVENT_ID [--destination NAME] [flags]

Sends a dead letter again, under the same event id and with a fresh budget of attempts. Exit code 1: nothing of it was dead.

  --destination NAME   only the copy for this destination; default: all dead ones
${ACCESS_USAGE}
`;

/** `davit replay`: makes dead copies of an event live again. */
export const command: Command = {
  name: "replay",
  summary: "send a dead letter again",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(argv, { ...ACCESS_OPTIONS, destination: { type: "string" } }, 1);
    const id = positionals[0]?.toUpperCase();
    if (id === undefined) throw new UsageError("name the event's id; davit deadletters lists them");
    const access = await openCustody(values);
    try {
      const { replayed, why } = await replay(access, id, values.destination);
      io.stdout.write(
        replayed > 0 ? `${id}: replayed to ${replayed} destination(s)\n` : `${id}: nothing replayed: ${why}\n`,
      );
      return replayed > 0 ? 0 : 1;
    } finally {
      access.close();
    }
  },
};

async function replay(
  access: CustodyAccess,
  id: string,
  destination: string | undefined,
): Promise<{ readonly replayed: number; readonly why: string }> {
  for (const namespace of access.namespaces) {
    const event = await access.ledger(namespace).event(id);
    if (event === undefined) continue;
    const wanted = event.copies.filter(
      (copy) =>
        destination === undefined || [copy.destination, copy.destination.split("/").at(-1)].includes(destination),
    );
    if (wanted.length === 0) return { replayed: 0, why: `it has no destination ${destination}` };
    let replayed = 0;
    for (const copy of wanted) replayed += (await access.ledger(namespace).replay(id, copy.destination)).replayed;
    return { replayed, why: `it is ${[...new Set(wanted.map(({ state }) => state))].join(", ")}, not dead` };
  }
  return { replayed: 0, why: "there is no such event" };
}
