import { type Command, type Io, outputFormat, parse, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody } from "./custody-access.ts";
import { enable, hold } from "./destinations/gate.ts";
import { list, stateFlag } from "./destinations/list.ts";
import { show } from "./destinations/show.ts";
import { test } from "./destinations/test-event.ts";

const USAGE = `davit destinations [--state STATE] [-o table|json] [flags]
       davit destinations get ID [-o table|json] [flags]
       davit destinations enable ID... | --all-disabled [--dry-run] [flags]
       davit destinations hold ID... --for DURATION | --until TIME [flags]
       davit destinations test ID [--route NAME] [--type TYPE] [--data JSON] [flags]

Lists destinations with what waits for them; shows one with its statistics; enables those that are held, open or disabled; holds them, so that nothing is
sent for a while; or sends a test event to one, by a route that reaches it, and waits for its outcome (only with a davit dev that runs). ID is the id of a
WebhookDestination, or ROUTE/NAME of a destination that stands in its route: these are listed and shown, and have no gate. Exit code 1: there is none, it
is disabled (hold), or the test event was not delivered.

  --state STATE        only those that are Closed, HalfOpen, Open, Held or Disabled
  --all-disabled       enable every disabled one
  --dry-run            only say which
  --for DURATION       hold for so long: 30s, 10m, 24h; at most 720h
  --until TIME         hold until then: 2026-01-31T12:00:00Z
  --route NAME         of the test event; may be left out when only one route reaches the destination
  --type TYPE          of the test event; default davit.test
  --data JSON          of the test event; default {}
${ACCESS_USAGE}
  -o, --output FORMAT  table or json
`;

const OPTIONS = {
  ...ACCESS_OPTIONS,
  state: { type: "string" },
  "all-disabled": { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
  for: { type: "string" },
  until: { type: "string" },
  route: { type: "string" },
  type: { type: "string" },
  data: { type: "string" },
  output: { type: "string", short: "o" },
} as const;

/** Most ids of a call. */
const MAX_IDS = 1_000;

/** Flags of the command, read. */
export type Values = ReturnType<typeof parse<typeof OPTIONS>>["values"];

/** One call of the command. */
export interface Call {
  readonly values: Values;
  /** As they were written. */
  readonly ids: readonly string[];
  readonly format: "table" | "json";
  readonly access: CustodyAccess;
  readonly io: Io;
}

const VERBS: ReadonlyMap<string, (call: Call) => Promise<number>> = new Map([
  ["list", list],
  ["get", show],
  ["enable", enable],
  ["hold", hold],
  ["test", test],
]);

/** `davit destinations`: how destinations are doing, and their gates. */
export const command: Command = {
  name: "destinations",
  summary: "list destinations; enable, hold or test them",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(argv, OPTIONS, MAX_IDS);
    const [verb = "list", ...ids] = positionals;
    const run = VERBS.get(verb);
    if (run === undefined) {
      throw new UsageError(`"${verb}" is not known; there are ${[...VERBS.keys()].join(", ")}`);
    }
    demandIds(verb, ids, values);
    const format = outputFormat(values.output);
    const access = await openCustody(values);
    try {
      return await run({ values, ids, format, access, io });
    } finally {
      access.close();
    }
  },
};

/** How many ids each verb takes. */
const IDS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  list: [0, 0],
  get: [1, 1],
  test: [1, 1],
  enable: [1, MAX_IDS],
  hold: [1, MAX_IDS],
};

/** @throws UsageError */
function demandIds(verb: string, ids: readonly string[], values: Values): void {
  stateFlag(values.state);
  const isAll = verb === "enable" && values["all-disabled"];
  if (isAll && ids.length > 0) throw new UsageError("name destinations, or --all-disabled, not both");
  const [min = 0, max = 0] = isAll ? [0, 0] : (IDS[verb] ?? []);
  if (ids.length < min) throw new UsageError(`name the destination to ${verb}; davit destinations lists them`);
  if (ids.length > max) throw new UsageError(`unexpected argument "${ids[max]}"`);
}
