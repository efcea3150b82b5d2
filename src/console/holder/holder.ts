import type { z } from "zod";
import type { Caller } from "../../kube/access.ts";
import type { Directory, KnownDestination, KnownRoute } from "../directory.ts";
import { routesTo } from "../destinations/test-event.ts";
import {
  type Answer,
  type Call,
  type Endpoint,
  endpoint,
  type EndpointDefinition,
  type PathValues,
} from "../endpoint.ts";
import type { AccessOf } from "../handler.ts";
import { invalid } from "../refusals.ts";

/** Whoever has a token of a WebhookDestination. */
export interface Holder extends Caller {
  /** All they may see and do is about this one. */
  readonly destination: KnownDestination;
}

/** Knows tokens by what the directory says of them. */
export class HolderAccess implements AccessOf<Holder> {
  readonly #directory: Directory;

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  async caller(token: string): Promise<Holder | undefined> {
    if (!this.#directory.isReady) throw new Error("tokens are not known yet");
    const destination = this.#directory.byToken(token);
    if (destination === undefined) return undefined;
    const { namespace, name } = destination;
    return { name: `destination ${namespace}/${name}`, destination, may: async () => false };
  }
}

/** An endpoint for holders. It needs no right: it is about their own destination and nothing else. */
export function own<Path extends string, Q = object, B = undefined>(
  definition: Omit<EndpointDefinition<Path, Q, B, Holder>, "rights" | "handle" | "query" | "body"> & {
    readonly query?: z.ZodType<Q>;
    readonly body?: z.ZodType<B>;
    readonly handle: (call: Call<PathValues<Path>, Q, B, Holder>) => Promise<Answer>;
  },
): Endpoint<Holder> {
  return endpoint<Path, Q, B, Holder>({ ...definition, rights: () => [] });
}

/** The routes that reach a holder's destination; no other one is there for them. */
export class OwnRoutes {
  readonly all: readonly KnownRoute[];

  constructor(directory: Directory, destination: KnownDestination) {
    this.all = routesTo(directory, destination).toSorted((a, b) => (a.route < b.route ? -1 : 1));
  }

  /** Its name; `null` when it is gone, or reaches the destination no more. */
  readonly nameOf = (key: string): string | null => this.all.find(({ route }) => route === key)?.name ?? null;

  /**
   * One that a filter names. One that does not exist and one of others are refused alike.
   * @throws Refused `RequestInvalid`
   */
  named(name: string, field = "route"): KnownRoute {
    const route = this.all.find((one) => one.name === name);
    if (route !== undefined) return route;
    throw invalid([{ field, message: "no route of this name reaches the destination" }]);
  }
}
