import { CursorExpired, type EventFilter } from "../custody/operations.ts";
import { COPY_STATES, type CopyState, type EventView, type Rejection } from "../custody/port.ts";
import {
  type Command,
  CommandError,
  type Io,
  outputFormat,
  parse,
  printJson,
  UsageError,
  wholeNumber,
} from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody, routesNamed } from "./custody-access.ts";
import { stateOf, time } from "./event-story.ts";
import { owners, timeFlag } from "./operations/filters.ts";
import { table } from "./table.ts";

const USAGE = `davit events [filters] [--limit N] [-o table|json] [flags]
       davit events --route NAME --after SEQUENCE [--type TYPE] [--limit N] [-o table|json] [flags]
       davit events --rejected [--route NAME] [--limit N] [-o table|json] [flags]

Lists the newest events; with --after those that came after a sequence, the oldest first and without a gap; or the last refused requests.

  --route NAME         of this route only: name, namespace/name, or the 16-digit route key
  --destination NAME   for this destination: its name with --route, ROUTE/NAME, or ~ID of a WebhookDestination with --route
  --since, --until TIME  received in this time: 2026-01-31, 2026-01-31T12:00:00Z, or 2h (that long ago; units ms, s, m, h, d)
  --state STATE        with a copy that is ${COPY_STATES.slice(0, -1).join(", ")} or ${COPY_STATES.at(-1)}
  --type TYPE          of this event type; invoice.* for all of them
  --after SEQUENCE     0 for all there were. Exit code 1 when events behind it are no longer kept
  --limit N            of each route; default 20
  --rejected           refused requests instead (the last 100 of a route are known)
${ACCESS_USAGE}
`;

const OPTIONS = {
  ...ACCESS_OPTIONS,
  route: { type: "string" },
  destination: { type: "string" },
  since: { type: "string" },
  until: { type: "string" },
  state: { type: "string" },
  type: { type: "string" },
  after: { type: "string" },
  limit: { type: "string", default: "20" },
  rejected: { type: "boolean", default: false },
  output: { type: "string", short: "o" },
} as const;

type Values = ReturnType<typeof parse<typeof OPTIONS>>["values"];

interface Call {
  readonly values: Values;
  readonly access: CustodyAccess;
  readonly io: Io;
  readonly format: "table" | "json";
  readonly limit: number;
}

/** `davit events`: events of all routes by filter, or of one by sequence. */
export const command: Command = {
  name: "events",
  summary: "list events, or refused requests",
  usage: USAGE,
  async run(argv, io) {
    const { values } = parse(argv, OPTIONS);
    const format = outputFormat(values.output);
    const limit = wholeNumber("--limit", values.limit, [1, 1_000]);
    if (values["redis-url"] !== undefined && values.route === undefined) {
      throw new UsageError("--redis-url needs --route with a route key: only davit dev tells the names");
    }
    const access = await openCustody(values);
    try {
      const call = { values, access, io, format, limit };
      if (values.rejected) return await rejected(call);
      return values.after === undefined ? await newest(call) : await after(call, values.after);
    } finally {
      access.close();
    }
  },
};

async function rejected({ values, access, io, format, limit }: Call): Promise<number> {
  const routes = routesNamed(access, values.route);
  const all = await Promise.all(routes.map(({ namespace, route }) => access.ledger(namespace).rejections(route)));
  const some = all.flatMap((of) => of.toSorted((a, b) => b.at - a.at).slice(0, limit));
  printRejections(
    io,
    access,
    format,
    some.toSorted((a, b) => b.at - a.at),
  );
  return 0;
}

async function newest({ values, access, io, format, limit }: Call): Promise<number> {
  const filters = routeFilters(access, values, Date.now());
  const all = await Promise.all(filters.map(({ namespace, filter }) => find(access, namespace, filter, limit)));
  printEvents(
    io,
    access,
    format,
    all.flat().toSorted((a, b) => b.receivedAt - a.receivedAt),
  );
  return 0;
}

async function find(
  access: CustodyAccess,
  namespace: string,
  filter: EventFilter,
  limit: number,
): Promise<readonly EventView[]> {
  const found: EventView[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...filter, limit: limit - found.length, ...(cursor !== undefined && { cursor }) };
    const page = await access.operations(namespace).events(query);
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && found.length < limit);
  return found;
}

async function after({ values, access, io, format, limit }: Call, text: string): Promise<number> {
  const position = wholeNumber("--after", text, [0, Number.MAX_SAFE_INTEGER]);
  const unfit = (["since", "until", "state"] as const).find((name) => values[name] !== undefined);
  if (unfit !== undefined) throw new UsageError(`--${unfit} does not go with --after`);
  const [chosen, ...others] = routeFilters(access, values, Date.now());
  if (chosen === undefined || others.length > 0) throw new UsageError("--after needs --route with one route");
  const { namespace, filter } = chosen;
  const query = { ...filter, after: position, limit };
  const page = await access.operations(namespace).eventsAfter(query).catch(explainExpired);
  const { items, next, more } = page;
  if (format === "json") {
    printJson(io, { events: items.map((event) => named(access, event)), next, more });
    return 0;
  }
  printEvents(io, access, format, items);
  io.stderr.write(`${more ? "there is more" : "that is all for now"}: go on with --after ${next}\n`);
  return 0;
}

function explainExpired(error: unknown): never {
  if (!(error instanceof CursorExpired)) throw error;
  throw new CommandError(
    `CursorExpired: events after it are no longer kept. All after --after ${error.completeAfter} are; without --after the newest are listed`,
    { cause: error },
  );
}

/** A filter for each route that the flags name. */
function routeFilters(
  access: CustodyAccess,
  values: Values,
  now: number,
): readonly { readonly namespace: string; readonly filter: EventFilter }[] {
  const { route, destination, since, until, state, type: eventType } = values;
  const filter = {
    ...(since !== undefined && { from: timeFlag("--since", since, now) }),
    ...(until !== undefined && { to: timeFlag("--until", until, now) }),
    ...(state !== undefined && { state: stateFlag(state) }),
    ...(eventType !== undefined && { eventType }),
  };
  if (destination === undefined) {
    return routesNamed(access, route).map((one) => ({
      namespace: one.namespace,
      filter: { route: one.route, ...filter },
    }));
  }
  return owners(access, { route, destination }).map((owner) => {
    const key = owner.route ?? owner.destination?.split("/")[0] ?? "";
    if (key.startsWith("~")) throw new UsageError("--destination ~ID needs --route: events are listed by route");
    return { namespace: owner.namespace, filter: { route: key, destination: owner.destination ?? "", ...filter } };
  });
}

function stateFlag(text: string): CopyState {
  const state = COPY_STATES.find((one) => one === text);
  if (state === undefined) throw new UsageError(`--state: "${text}" is not known; there are ${COPY_STATES.join(", ")}`);
  return state;
}

function named(access: CustodyAccess, event: EventView): EventView {
  return { ...event, route: access.routeName(event.route) };
}

function printEvents(io: Io, access: CustodyAccess, format: "table" | "json", events: readonly EventView[]): void {
  if (format === "json") {
    printJson(
      io,
      events.map((event) => named(access, event)),
    );
    return;
  }
  const rows = events.map((event) => [
    event.id,
    access.routeName(event.route),
    time(event.receivedAt),
    event.eventType ?? "-",
    String(Math.max(0, ...event.copies.map(({ attempts }) => attempts.length))),
    String(event.duplicates),
    stateOf(event),
  ]);
  io.stdout.write(table(["EVENT ID", "ROUTE", "RECEIVED", "TYPE", "ATTEMPTS", "DUPLICATES", "STATE"], rows));
}

function printRejections(io: Io, access: CustodyAccess, format: "table" | "json", all: readonly Rejection[]): void {
  if (format === "json") {
    printJson(
      io,
      all.map((one) => ({ ...one, route: access.routeName(one.route) })),
    );
    return;
  }
  const rows = all.map(({ at, route, status, reason, client, bodyBytes, bodySha256 }) => [
    time(at),
    access.routeName(route),
    String(status),
    reason,
    client,
    String(bodyBytes),
    bodySha256.slice(0, 16) || "-",
  ]);
  io.stdout.write(table(["TIME", "ROUTE", "STATUS", "REASON", "CLIENT", "BYTES", "BODY SHA-256"], rows));
}
