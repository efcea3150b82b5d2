import type { CopyFilter } from "../custody/operations.ts";
import { type Command, parse, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, openCustody } from "./custody-access.ts";
import { type Act, actOnAll, actOnEvent } from "./operations/act.ts";
import { owners, timeFlag } from "./operations/filters.ts";

const USAGE = `davit cancel EVENT_ID [--destination NAME] [flags]
       davit cancel filters [--yes] [flags]

Ends waiting and delayed copies for good: they are not delivered, and a redelivery by the provider is a duplicate. Copies that a request is under way for
are left alone. With filters it only says how many there are, unless --yes is given.

  --route NAME         of this route: name, namespace/name, or the 16-digit route key
  --destination NAME   for this destination: its name with --route, ROUTE/NAME, or ~ID of a WebhookDestination
  --since, --until TIME  received in this time: 2026-01-31, 2026-01-31T12:00:00Z, or 2h (that long ago; units ms, s, m, h, d)
  --type TYPE          of this event type; invoice.* for all of them
  --yes                do it
${ACCESS_USAGE}
`;

const CANCEL: Act<CopyFilter> = {
  done: "cancelled",
  wanted: "waiting or delayed",
  act: (operations, selection) => operations.cancel(selection),
  count: (operations, filter) => operations.countCancellable(filter),
};

/** `davit cancel`: ends copies that wait. */
export const command: Command = {
  name: "cancel",
  summary: "end waiting and delayed copies for good",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(
      argv,
      {
        ...ACCESS_OPTIONS,
        route: { type: "string" },
        destination: { type: "string" },
        since: { type: "string" },
        until: { type: "string" },
        type: { type: "string" },
        yes: { type: "boolean", default: false },
      },
      1,
    );
    const id = positionals[0]?.toUpperCase();
    const { route, destination, since, until, type: eventType } = values;
    if (id === undefined && route === undefined && destination === undefined) {
      throw new UsageError("name the event's id, --route or --destination");
    }
    const now = Date.now();
    const filter = {
      ...(since !== undefined && { from: timeFlag("--since", since, now) }),
      ...(until !== undefined && { to: timeFlag("--until", until, now) }),
      ...(eventType !== undefined && { eventType }),
    };
    const access = await openCustody(values);
    try {
      if (id !== undefined) return await actOnEvent(CANCEL, access, { id, destination }, io);
      const places = owners(access, values).map(({ namespace, ...owner }) => ({
        namespace,
        filter: { ...owner, ...filter },
      }));
      return await actOnAll(CANCEL, access, { places, isAgreed: values.yes }, io);
    } finally {
      access.close();
    }
  },
};
