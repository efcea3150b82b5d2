import type { EventView, Rejection } from "../custody/port.ts";
import { type Command, type Io, outputFormat, parse, printJson, UsageError, wholeNumber } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody, routesNamed } from "./custody-access.ts";
import { stateOf, time } from "./event-story.ts";
import { table } from "./table.ts";

const USAGE = `davit events [--route NAME] [--limit N] [--rejected] [-o table|json] [flags]

Lists the newest events, or the last refused requests.

  --route NAME         of this route only: name, namespace/name, or the 16-digit route key
  --limit N            of each route; default 20
  --rejected           refused requests instead (the last 100 of a route are known)
${ACCESS_USAGE}
`;

/** `davit events`: the newest events of all routes. */
export const command: Command = {
  name: "events",
  summary: "list the newest events, or refused requests",
  usage: USAGE,
  async run(argv, io) {
    const { values } = parse(argv, {
      ...ACCESS_OPTIONS,
      route: { type: "string" },
      limit: { type: "string", default: "20" },
      rejected: { type: "boolean", default: false },
      output: { type: "string", short: "o" },
    });
    const format = outputFormat(values.output);
    const limit = wholeNumber("--limit", values.limit, [1, 1_000]);
    if (values["redis-url"] !== undefined && values.route === undefined) {
      throw new UsageError("--redis-url needs --route with a route key: only davit dev tells the names");
    }
    const access = await openCustody(values);
    try {
      const routes = routesNamed(access, values.route);
      if (values.rejected) {
        const all = await Promise.all(routes.map(({ namespace, route }) => access.ledger(namespace).rejections(route)));
        const newest = all.flatMap((some) => some.toSorted((a, b) => b.at - a.at).slice(0, limit));
        printRejections(
          io,
          access,
          format,
          newest.toSorted((a, b) => b.at - a.at),
        );
      } else {
        const all = await Promise.all(
          routes.map(({ namespace, route }) => access.ledger(namespace).events(route, limit)),
        );
        printEvents(
          io,
          access,
          format,
          all.flat().toSorted((a, b) => b.receivedAt - a.receivedAt),
        );
      }
      return 0;
    } finally {
      access.close();
    }
  },
};

function printEvents(io: Io, access: CustodyAccess, format: "table" | "json", events: readonly EventView[]): void {
  if (format === "json") {
    printJson(
      io,
      events.map((event) => ({ ...event, route: access.routeName(event.route) })),
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
