import type { PurgeResult } from "../custody/shelves.ts";
import { routeKey } from "../api/names.ts";
import { type Command, CommandError, type Io, outputFormat, parse, printJson, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, type CustodyAccess, openCustody } from "./custody-access.ts";
import { time } from "./event-story.ts";
import { type Held, heldIn, heldUnder, type Place } from "./orphans/held.ts";
import { liveRoutes } from "./orphans/live-routes.ts";
import { table } from "./table.ts";

const USAGE = `davit orphans [-o table|json] [flags]
       davit orphans adopt --from KEY --to NAMESPACE/ROUTE [flags]
       davit orphans purge KEY [--yes] [flags]

Events of routes that do not exist any more. A deleted route's wait on its shelf; a route of the same name in the same namespace takes them up again by
itself. After a restore with new UIDs, adopt gives them to the route that has taken the old one's place. purge removes them; without --yes it only says
what would go.

  --from KEY           16-digit key of the route that is gone, as listed
  --to NAMESPACE/ROUTE the route that gets its events
  --namespace-uid UID  of the namespace of --to, with --no-cluster
  --yes                remove
  -o, --output FORMAT  table or json
  --kubeconfig FILE    the cluster whose routes live; default as kubectl
  --context NAME       context in it
  --no-cluster         with --redis-url: ask no cluster; only what lies on a shelf is then touched
${ACCESS_USAGE}
`;

const OPTIONS = {
  ...ACCESS_OPTIONS,
  from: { type: "string" },
  to: { type: "string" },
  "namespace-uid": { type: "string" },
  yes: { type: "boolean", default: false },
  output: { type: "string", short: "o" },
  kubeconfig: { type: "string" },
  context: { type: "string" },
  "no-cluster": { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof parse<typeof OPTIONS>>["values"];

interface Call {
  readonly values: Values;
  readonly argument: string | undefined;
  readonly access: CustodyAccess;
  readonly io: Io;
}

const ACTIONS: Readonly<Record<string, (call: Call) => Promise<number>>> = { list, adopt, purge };

/** `davit orphans`: what deleted routes left behind. */
export const command: Command = {
  name: "orphans",
  summary: "events of deleted routes: list, adopt, purge",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(argv, OPTIONS, 2);
    const [name = "list", argument] = positionals;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined) throw new UsageError(`"${name}" is not known; there are adopt and purge`);
    if (argument !== undefined && name !== "purge") throw new UsageError(`unexpected argument "${argument}"`);
    const access = await openCustody(values);
    try {
      return await action({ values, argument, access, io });
    } finally {
      access.close();
    }
  },
};

async function list({ values, access, io }: Call): Promise<number> {
  const format = outputFormat(values.output);
  const held: Held[] = [];
  for (const place of await placesOf(values, access)) held.push(...(await heldIn(place)));
  if (format === "json") {
    printJson(io, held);
    return 0;
  }
  const rows = held.map(({ route, namespace, name, shelvedAt, events, deadLetters, records }) => {
    const counts = shelvedAt === undefined ? ["?", "?", "?"] : [events, deadLetters, records].map(String);
    return [route, `${namespace}/${name || "?"}`, shelvedAt === undefined ? "never" : time(shelvedAt), ...counts];
  });
  io.stdout.write(table(["KEY", "ROUTE", "ON SHELF SINCE", "WAITING", "DEAD LETTERS", "RECORDS"], rows));
  return 0;
}

async function adopt({ values, access, io }: Call): Promise<number> {
  const { from, to } = values;
  if (from === undefined || to === undefined) throw new UsageError("adopt needs --from KEY and --to NAMESPACE/ROUTE");
  const key = checkedKey("--from", from);
  const places = await placesOf(values, access);
  const target = targetOf(values, places, to);
  const { place, held } = await heldUnder(places, key);
  if (place.namespace !== target.namespace) {
    throw new CommandError(`the events are ${place.namespace}'s: no event crosses a namespace`);
  }
  let [records, left, more] = [0, 0, true];
  while (more) {
    const step = await place.shelves.adopt(held.route, target.route);
    records += step.records;
    ({ left, more } = step);
  }
  io.stdout.write(`${to} has ${records} records of ${held.route}\n`);
  if (left === 0) return 0;
  io.stderr.write(`${left} more have a running attempt or cannot be read: run it again in a minute\n`);
  return 1;
}

async function purge({ values, argument, access, io }: Call): Promise<number> {
  if (argument === undefined) throw new UsageError("name the key; davit orphans lists them");
  const key = checkedKey("KEY", argument);
  const { place, held } = await heldUnder(await placesOf(values, access), key);
  const title = `${held.route} (${held.namespace}/${held.name || "?"})`;
  if (!values.yes) {
    const counts = held.shelvedAt === undefined ? "all it has" : countsOf(held);
    io.stdout.write(`would remove ${counts} of ${title}. Nothing was removed: add --yes\n`);
    return 0;
  }
  const { route, name, namespaceUid } = held;
  while ((await place.shelves.shelve({ route, name, namespaceUid })).more);
  const result = await purgeAll(place, route);
  io.stdout.write(
    `removed ${result.records} records of ${title}: ${result.undelivered} copies not delivered, ${result.deadLetters} dead letters\n`,
  );
  if (result.unreadable === 0) return 0;
  io.stderr.write(`${result.unreadable} records were written by a newer Davit and are left: use its davit orphans\n`);
  return 1;
}

async function purgeAll({ shelves }: Place, route: string): Promise<PurgeResult> {
  for (;;) {
    const result = await shelves.purge(route, 0);
    if (result === undefined) throw new CommandError(`${route} is not on a shelf any more: its route is back`);
    if (!result.more) return result;
  }
}

function countsOf({ events, deadLetters, records }: Held): string {
  return `${records} records, ${events} of them waiting, ${deadLetters} dead letters`;
}

/** Of a `davit dev` it is known which routes live; elsewhere the cluster says. */
async function placesOf(values: Values, access: CustodyAccess): Promise<readonly Place[]> {
  const { kubeconfig, context, "no-cluster": noCluster, "redis-url": elsewhere, instance = "default" } = values;
  const liveIn = async (namespace: string) => {
    if (elsewhere === undefined) return access.routes.filter((route) => route.namespace === namespace);
    return noCluster ? undefined : liveRoutes(namespace, instance, { kubeconfig, context });
  };
  return Promise.all(
    access.namespaces.map(async (namespace) => ({
      namespace,
      shelves: access.shelves(namespace),
      live: await liveIn(namespace),
    })),
  );
}

function targetOf(
  values: Values,
  places: readonly Place[],
  to: string,
): { readonly namespace: string; readonly route: string } {
  const [namespace = "", name, ...rest] = to.split("/");
  if (!namespace || !name || rest.length > 0) throw new UsageError(`--to: write NAMESPACE/ROUTE, not "${to}"`);
  const place = places.find((one) => one.namespace === namespace);
  if (place === undefined)
    throw new CommandError(`--to: namespace ${namespace} is not looked into: add -n ${namespace}`);
  const uid = values["namespace-uid"];
  if (place.live === undefined) {
    if (uid === undefined) throw new UsageError("--no-cluster needs --namespace-uid to know the key of --to");
    return { namespace, route: routeKey(uid, name) };
  }
  const live = place.live.find((route) => route.name === name);
  if (live === undefined) throw new CommandError(`--to: there is no route ${to}: apply it first`);
  return { namespace, route: live.route };
}

function checkedKey(flag: string, key: string): string {
  if (/^[0-9a-f]{16}$/.test(key)) return key;
  throw new UsageError(`${flag}: "${key}" is no route key: 16 hex digits`);
}
