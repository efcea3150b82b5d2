import { idOfDestination } from "../api/names.ts";
import type { Operations } from "../custody/operations.ts";
import type { Ledger } from "../custody/port.ts";
import type { Shelves } from "../custody/shelves.ts";
import type { Statistics } from "../custody/statistics.ts";
import { RedisStore } from "../custody/redis/store.ts";
import { CommandError, UsageError } from "./command.ts";
import { type DevDestinationName, type DevRoute, readDevState } from "./dev/state.ts";

/** Flags of every command that looks into custody. */
export const ACCESS_OPTIONS = {
  "data-dir": { type: "string", default: ".davit" },
  "redis-url": { type: "string" },
  namespace: { type: "string", short: "n" },
  instance: { type: "string" },
} as const;

/** Their part of a usage text. */
export const ACCESS_USAGE = `
  --data-dir DIR       of the davit dev that runs; default .davit
  --redis-url URL      custody elsewhere; needs --namespace
  -n, --namespace NS   look into this namespace only
  --instance NAME      with --redis-url; default "default"`;

interface AccessValues {
  readonly "data-dir": string;
  readonly "redis-url"?: string | undefined;
  readonly namespace?: string | undefined;
  readonly instance?: string | undefined;
}

/** Custody as an operator's command sees it. */
export interface CustodyAccess {
  readonly namespaces: readonly string[];
  /** What is known of routes: of a running `davit dev` all, elsewhere none. */
  readonly routes: readonly DevRoute[];
  /** WebhookDestinations, of a running `davit dev`. */
  readonly destinations: readonly DevDestinationName[];
  /** Of one of {@link namespaces}. */
  ledger(namespace: string): Ledger;
  operations(namespace: string): Operations;
  shelves(namespace: string): Shelves;
  statistics(namespace: string): Statistics;
  /** `namespace/name` of a route key, or the key itself. */
  routeName(route: string): string;
  /** `route/destination` in names, or the id itself; of a WebhookDestination `~` and its id, and its name if that is another. */
  destinationName(destination: string): string;
  close(): void;
}

/**
 * Opens the custody that the flags name.
 * @throws UsageError, CommandError when nothing runs there
 */
export async function openCustody(values: AccessValues): Promise<CustodyAccess> {
  const target = values["redis-url"] === undefined ? ofDev(values) : elsewhere(values, values["redis-url"]);
  const store = new RedisStore({ url: target.url });
  const { up } = await store.start();
  if (!up) {
    store.close();
    throw new CommandError(`Redis at ${withoutCredentials(target.url)} does not answer`);
  }
  const names = new Map(target.routes.map(({ route, namespace, name }) => [route, `${namespace}/${name}`]));
  const routeName = (route: string) => names.get(route) ?? route;
  return {
    namespaces: target.namespaces,
    routes: target.routes,
    destinations: target.destinations,
    ledger: (namespace) => store.ledger({ instance: target.instance, namespace }),
    operations: (namespace) => store.operations({ instance: target.instance, namespace }),
    shelves: (namespace) => store.shelves({ instance: target.instance, namespace }),
    statistics: (namespace) => store.statistics({ instance: target.instance, namespace }),
    routeName,
    destinationName: (destination) => {
      if (destination.startsWith("~")) return sharedName(destination, target.destinations);
      const [route = "", name] = destination.split("/");
      return name === undefined ? destination : `${routeName(route)}/${name}`;
    },
    close: () => store.close(),
  };
}

/** The id as `--destination` takes it; names of all namespaces that have it. */
function sharedName(destination: string, known: readonly DevDestinationName[]): string {
  const id = idOfDestination(destination) ?? destination.slice(1);
  const bearers = known.filter((one) => one.destination === destination).map(({ name }) => name);
  const others = [...new Set(bearers)].filter((name) => name !== id);
  return others.length === 0 ? `~${id}` : `~${id} (${others.join(", ")})`;
}

interface Target {
  readonly url: string;
  readonly instance: string;
  readonly namespaces: readonly string[];
  readonly routes: readonly DevRoute[];
  readonly destinations: readonly DevDestinationName[];
}

function ofDev({ "data-dir": dir, namespace, instance }: AccessValues): Target {
  if (instance !== undefined) throw new UsageError("--instance goes with --redis-url");
  const state = readDevState(dir);
  if (state?.redis === undefined) {
    throw new CommandError(`no davit dev runs over ${dir}: start it, or give its --data-dir, or --redis-url`);
  }
  const routes = state.routes.filter((route) => namespace === undefined || route.namespace === namespace);
  const namespaces = [...new Set(routes.map((route) => route.namespace))];
  return {
    url: state.redis.url,
    instance: state.instance,
    namespaces: namespace !== undefined && namespaces.length === 0 ? [namespace] : namespaces,
    routes,
    destinations: (state.destinations ?? []).filter((one) => namespace === undefined || one.namespace === namespace),
  };
}

function elsewhere({ namespace, instance = "default" }: AccessValues, url: string): Target {
  if (namespace === undefined) throw new UsageError("--redis-url needs --namespace: each has its own custody");
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) throw new UsageError("--redis-url: write redis://HOST:PORT");
  return { url, instance, namespaces: [namespace], routes: [], destinations: [] };
}

function withoutCredentials(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

/**
 * The routes that a `--route` names: `name`, `namespace/name`, or a route key.
 * @throws CommandError when there is none
 */
export function routesNamed(access: CustodyAccess, wanted: string | undefined): readonly DevRoute[] {
  if (wanted === undefined) return access.routes;
  const found = access.routes.filter(({ namespace, name, route }) =>
    [name, `${namespace}/${name}`, route].includes(wanted),
  );
  if (found.length > 0) return found;
  const [namespace] = access.namespaces;
  if (/^[0-9a-f]{16}$/.test(wanted) && namespace !== undefined) {
    return [{ namespace, name: wanted, route: wanted, host: "", path: "" }];
  }
  const known = access.routes.map((route) => `${route.namespace}/${route.name}`).join(", ");
  throw new CommandError(
    `--route: there is no route ${wanted}; there is ${known || "none (give the 16-digit route key)"}`,
  );
}
