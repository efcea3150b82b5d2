import type { EventView, Rejection } from "../custody/port.ts";
import { type Command, CommandError, type Io, outputFormat, parse, printJson, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody } from "./custody-access.ts";
import { eventStory, rejectionLine } from "./event-story.ts";

const USAGE = `davit trace EVENT_ID|BODY_SHA256 [-o table|json] [flags]

Tells what became of an event: accepted, its duplicates, each attempt, its final state. A refused request never became an event; it is
found by the SHA-256 of its body (the first 8 digits or more; davit events --rejected shows them). Exit code 1: never seen.
${ACCESS_USAGE}
`;

/** Crockford base32, as in ULIDs. */
const EVENT_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/i;
const BODY_HASH = /^[0-9a-f]{8,64}$/i;

/** `davit trace`: what became of an event. */
export const command: Command = {
  name: "trace",
  summary: "tell what became of an event",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(argv, { ...ACCESS_OPTIONS, output: { type: "string", short: "o" } }, 1);
    const format = outputFormat(values.output);
    const [wanted] = positionals;
    if (wanted === undefined) throw new UsageError("name the event's id (the header Davit-Event-Id of the answer)");
    if (!EVENT_ID.test(wanted) && !BODY_HASH.test(wanted)) {
      throw new UsageError(`"${wanted}" is neither an event id (26 letters and digits) nor a SHA-256 in hex`);
    }
    const access = await openCustody(values);
    try {
      return await trace(access, wanted, { io, format });
    } finally {
      access.close();
    }
  },
};

async function trace(
  access: CustodyAccess,
  wanted: string,
  { io, format }: { readonly io: Io; readonly format: "table" | "json" },
): Promise<number> {
  const event = EVENT_ID.test(wanted) ? await findEvent(access, wanted.toUpperCase()) : undefined;
  const rejections = event === undefined && BODY_HASH.test(wanted) ? await findRejections(access, wanted) : [];
  if (format === "json") printJson(io, jsonOf(access, event, rejections));
  else for (const line of textOf(access, wanted, event, rejections)) io.stdout.write(`${line}\n`);
  return event === undefined && rejections.length === 0 ? 1 : 0;
}

function textOf(
  access: CustodyAccess,
  wanted: string,
  event: EventView | undefined,
  rejections: readonly Rejection[],
): readonly string[] {
  if (event !== undefined) return eventStory(event, access, Date.now());
  if (rejections.length > 0) return rejections.map((rejection) => rejectionLine(rejection, access));
  return [`${wanted} was never seen in ${access.namespaces.join(", ")}, or is kept no longer`];
}

/**
 * The event with an id in any of the namespaces.
 * @throws CommandError when there are no namespaces
 */
export async function findEvent(access: CustodyAccess, id: string): Promise<EventView | undefined> {
  if (access.namespaces.length === 0) throw new CommandError("no namespace has a route yet");
  const found = await Promise.all(access.namespaces.map((namespace) => access.ledger(namespace).event(id)));
  return found.find((event) => event !== undefined);
}

async function findRejections(access: CustodyAccess, hash: string): Promise<readonly Rejection[]> {
  const all = await Promise.all(
    access.routes.map(({ namespace, route }) => access.ledger(namespace).rejections(route)),
  );
  return all.flat().filter(({ bodySha256 }) => bodySha256.startsWith(hash.toLowerCase()));
}

function jsonOf(access: CustodyAccess, event: EventView | undefined, rejections: readonly Rejection[]): unknown {
  if (event !== undefined) return { seen: "accepted", ...event, route: access.routeName(event.route) };
  if (rejections.length === 0) return { seen: "never" };
  return { seen: "rejected", rejections: rejections.map((one) => ({ ...one, route: access.routeName(one.route) })) };
}
