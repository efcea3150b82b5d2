import type { KeptHandshake } from "../custody/port.ts";
import { type Command, type Io, outputFormat, parse, printJson, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody, routesNamed } from "./custody-access.ts";
import { time } from "./event-story.ts";
import { table } from "./table.ts";

const USAGE = `davit handshakes [--route NAME] [--show-secret] [-o table|json] [flags]

Lists the secrets that providers handed over while they set a webhook up (Notion's verification_token, Asana's X-Hook-Secret): 10 of a route,
for 72 hours; when there were more, the first and the newest, and it says how many are missing. Whoever can reach the route can hand one
over: believe only the one that belongs to your own set-up, by its time and client.

  --route NAME         of this route only: name, namespace/name, or the 16-digit route key
  --show-secret        print the values, too
${ACCESS_USAGE}
`;

/** `davit handshakes`: what providers handed over, for the operator to put into a Secret. */
export const command: Command = {
  name: "handshakes",
  summary: "list the secrets that providers handed over",
  usage: USAGE,
  async run(argv, io) {
    const { values } = parse(argv, {
      ...ACCESS_OPTIONS,
      route: { type: "string" },
      "show-secret": { type: "boolean", default: false },
      output: { type: "string", short: "o" },
    });
    const format = outputFormat(values.output);
    if (values["redis-url"] !== undefined && values.route === undefined) {
      throw new UsageError("--redis-url needs --route with a route key: only davit dev tells the names");
    }
    const access = await openCustody(values);
    try {
      const routes = routesNamed(access, values.route);
      const all = await Promise.all(routes.map(({ namespace, route }) => access.ledger(namespace).handshakes(route)));
      const kept = all.flat().toSorted((a, b) => b.at - a.at);
      if (format === "json")
        printJson(
          io,
          kept.map((one) => jsonOf(one, access, values["show-secret"])),
        );
      else print(io, access, { kept, showSecret: values["show-secret"] });
      await tellDropped(io, access, routes);
      return 0;
    } finally {
      access.close();
    }
  },
};

/** Somebody may have pushed the one out that counts. */
async function tellDropped(
  { stderr }: Io,
  access: CustodyAccess,
  routes: ReturnType<typeof routesNamed>,
): Promise<void> {
  for (const { namespace, route } of routes) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of the routes
    const dropped = await access.ledger(namespace).droppedHandshakes(route);
    if (dropped === 0) continue;
    stderr.write(
      `${access.routeName(route)}: ${dropped} more were handed over and are not kept; is yours missing, set the webhook up once more, and limit allowedSourceRanges to the provider meanwhile\n`,
    );
  }
}

interface Listing {
  readonly kept: readonly KeptHandshake[];
  readonly showSecret: boolean;
}

function print({ stdout }: Io, access: CustodyAccess, { kept, showSecret }: Listing): void {
  if (kept.length === 0) {
    stdout.write("no provider handed a secret over in the last 72 hours\n");
    return;
  }
  const header = ["TIME", "ROUTE", "KIND", "CLIENT", ...(showSecret ? ["VALUE"] : [])];
  stdout.write(
    table(
      header,
      kept.map((one) => row(one, access, showSecret)),
    ),
  );
  const hint = showSecret
    ? "put the one you expect into the route's Secret:\n  kubectl create secret generic NAME -n NAMESPACE --from-literal=KEY='VALUE'\n"
    : "--show-secret prints the values\n";
  stdout.write(`\nnone of this is authenticated: compare time and client with your own set-up of the webhook\n${hint}`);
}

function row({ at, route, kind, client, value }: KeptHandshake, access: CustodyAccess, showSecret: boolean) {
  return [time(at), access.routeName(route), kind, client, ...(showSecret ? [shown(value)] : [])];
}

function jsonOf({ at, route, kind, client, value }: KeptHandshake, access: CustodyAccess, showSecret: boolean) {
  const facts = { at: new Date(at).toISOString(), route: access.routeName(route), kind, client };
  return showSecret ? { ...facts, value: value.reveal().toString("utf8") } : facts;
}

/** In quotes when it is not a plain word: it comes from whoever sent it, and goes to a terminal. */
function shown(value: KeptHandshake["value"]): string {
  const text = value.reveal().toString("utf8");
  return /^[\x21-\x7e]+$/.test(text) ? text : JSON.stringify(text).replaceAll(/[^\x20-\x7e]/g, "?");
}
