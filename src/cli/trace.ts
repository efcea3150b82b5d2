import type { EventView, Rejection } from "../custody/port.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { type Command, CommandError, type Io, outputFormat, parse, printJson, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody, routesNamed } from "./custody-access.ts";
import { readRings } from "./dev/rings.ts";
import { eventStory, rejectionLine } from "./event-story.ts";
import { type ProviderIdTrace, providerIdStory, traceProviderId } from "./trace/provider-id.ts";

const USAGE = `davit trace ID [--route NAME] [-o table|json] [flags]

Tells what became of an event: accepted, its duplicates, each attempt, its final state; or refused, and why; or never seen (exit code 1).

  ID                   the event's id (the header Davit-Event-Id of the answer), the id it has at its provider, or the SHA-256 of
                       a refused request's body (the first 8 digits or more; davit events --rejected shows them)
  --route NAME         look for a provider's id in this route only: name, namespace/name, or the 16-digit route key
${ACCESS_USAGE}
`;

/** Crockford base32, as in ULIDs. */
const EVENT_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/i;
const BODY_HASH = /^[0-9a-f]{8,64}$/i;
/** Longest id that is looked for. */
const MAX_ID_LENGTH = 1_024;

/** `davit trace`: what became of an event. */
export const command: Command = {
  name: "trace",
  summary: "tell what became of an event, by its id or its provider's",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(
      argv,
      { ...ACCESS_OPTIONS, route: { type: "string" }, output: { type: "string", short: "o" } },
      1,
    );
    const format = outputFormat(values.output);
    const [wanted = ""] = positionals;
    if (wanted === "" || wanted.length > MAX_ID_LENGTH) {
      throw new UsageError("name the event's id (the header Davit-Event-Id of the answer), or its provider's");
    }
    const access = await openCustody(values);
    try {
      const entries = values["redis-url"] === undefined ? entriesOf(values["data-dir"]) : new Map<string, RouteEntry>();
      const found = await find(access, wanted, { route: values.route, entries });
      if (format === "json") printJson(io, jsonOf(access, found));
      else print(io, access, found);
      return isSeen(found) ? 0 : 1;
    } finally {
      access.close();
    }
  },
};

/** What an id turned out to be. */
interface Found {
  readonly event?: EventView;
  /** Refused requests with a body of this SHA-256. */
  readonly bodies?: readonly Rejection[];
  readonly provider?: ProviderIdTrace;
}

/** An event's own id first, then a body's hash, then a provider's id, which may look like either. */
async function find(
  access: CustodyAccess,
  wanted: string,
  { route, entries }: { readonly route: string | undefined; readonly entries: ReadonlyMap<string, RouteEntry> },
): Promise<Found> {
  const event = EVENT_ID.test(wanted) ? await findEvent(access, wanted.toUpperCase()) : undefined;
  if (event !== undefined) return { event };
  const routes = routesNamed(access, route);
  if (routes.length === 0 && !EVENT_ID.test(wanted) && !BODY_HASH.test(wanted)) {
    throw new UsageError(
      "a provider's id is looked for in a route: name it with --route (with --redis-url its 16-digit key)",
    );
  }
  const bodies = BODY_HASH.test(wanted) ? await findRejections(access, wanted) : [];
  return bodies.length > 0 ? { bodies } : { provider: await traceProviderId(access, wanted, { routes, entries }) };
}

function isSeen({ provider }: Found): boolean {
  return provider === undefined || provider.matches.length > 0 || provider.rejections.length > 0;
}

function entriesOf(dir: string): ReadonlyMap<string, RouteEntry> {
  const { entries, removed } = readRings(dir);
  return new Map([...removed.values(), ...entries.values()].map((entry) => [entry.route, entry]));
}

function print(io: Io, access: CustodyAccess, { event, bodies, provider }: Found): void {
  const now = Date.now();
  const lines = [
    ...(event ? eventStory(event, access, now) : []),
    ...(bodies ?? []).map((rejection) => rejectionLine(rejection, access)),
    ...(provider ? providerIdStory(provider, access, now) : []),
  ];
  for (const line of lines) io.stdout.write(`${line}\n`);
}

/**
 * The event with an id in any of the namespaces.
 * @throws CommandError when there are no namespaces
 */
async function findEvent(access: CustodyAccess, id: string): Promise<EventView | undefined> {
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

function jsonOf(access: CustodyAccess, { event, bodies = [], provider }: Found): unknown {
  const named = <T extends { readonly route: string }>(one: T) => ({ ...one, route: access.routeName(one.route) });
  if (event !== undefined) return { seen: "accepted", ...named(event) };
  if (provider === undefined) return { seen: "rejected", rejections: bodies.map(named) };
  const { id, matches, rejections, limits } = provider;
  if (matches.length === 0 && rejections.length === 0) return { seen: "never", providerId: id, limits };
  return {
    seen: matches.length > 0 ? "accepted" : "rejected",
    providerId: id,
    events: matches.map(({ event: record, ...match }) => ({ ...named(match), ...(record && named(record)) })),
    rejections: rejections.map(named),
    limits,
  };
}
