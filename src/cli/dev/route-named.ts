import type { RouteEntry } from "../../routes/entry.ts";
import { CommandError } from "../command.ts";
import { readRings } from "./rings.ts";
import { type DevState, readDevState } from "./state.ts";

/** A route of a running `davit dev`. */
export interface NamedRoute {
  /** As published, with its keys. */
  readonly entry: RouteEntry;
  /** `http://127.0.0.1:PORT` of its gateway. */
  readonly gateway: string;
}

/**
 * Finds the route that `--route` names, `name` or `namespace/name`, in the `davit dev` that runs over a directory.
 *
 * @param instead what to give when none runs, for the message
 * @throws CommandError when none runs, or none or several of its routes are called so
 */
export function routeNamed(dir: string, wanted: string, instead: string): NamedRoute {
  const state = readDevState(dir);
  if (state?.gateway === undefined)
    throw new CommandError(`no davit dev runs over ${dir}: start it, or give ${instead}`);
  const entries = [...readRings(dir).entries.values()];
  const named = entries.filter((entry) => isNamed(entry, wanted));
  const [entry] = named;
  if (entry === undefined) throw notFound(state, entries, wanted);
  if (named.length > 1)
    throw new CommandError(`--route: ${wanted} is in several namespaces; write NAMESPACE/${wanted}`);
  return { entry, gateway: state.gateway };
}

function notFound(state: DevState, entries: readonly RouteEntry[], wanted: string): CommandError {
  const conflict = state.conflicts?.find((one) => isNamed(one, wanted));
  if (conflict !== undefined) return new CommandError(`--route: ${wanted} is not served: ${conflict.message}`);
  const known = entries.map(({ namespace, name }) => `${namespace}/${name}`).join(", ");
  return new CommandError(`--route: there is no route ${wanted}; there is ${known || "none"}`);
}

function isNamed({ namespace, name }: { readonly namespace: string; readonly name: string }, wanted: string): boolean {
  return [name, `${namespace}/${name}`].includes(wanted);
}
