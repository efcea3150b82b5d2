import type { z } from "zod";
import type { Operations } from "../custody/operations.ts";
import type { Inbox, Ledger } from "../custody/port.ts";
import type { Statistics } from "../custody/statistics.ts";
import type { Caller } from "../kube/access.ts";
import type { Right } from "./access.ts";
import type { Directory } from "./directory.ts";

/** The custody of one namespace, as the console uses it. */
export interface Custody {
  readonly operations: Operations;
  readonly ledger: Ledger;
  readonly statistics: Statistics;
  /** For test events. */
  readonly inbox: Pick<Inbox, "claim">;
}

/** What endpoints need of their surroundings. */
export interface Surroundings {
  readonly directory: Directory;
  readonly custody: (namespace: string) => Custody;
}

/** Names in braces of a path, with their values. */
export type PathValues<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Readonly<Record<Name, string>> & PathValues<Rest>
  : unknown;

/** A request whose caller is known and whose input is as described. */
export interface Call<P, Q, B, C extends Caller = Caller> extends Surroundings {
  readonly caller: C;
  readonly path: P;
  readonly query: Q;
  readonly body: B;
  /** Value of `Idempotency-Key`, of an endpoint that takes one. */
  readonly idempotencyKey: string | undefined;
}

/** What an endpoint says when nothing is wrong. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  /** Becomes JSON. */
  readonly body: object;
  /** Default true. `false`: nothing was changed, as by a preview, and no audit line is written. */
  readonly changes?: boolean;
  /** What the audit line adds: names and numbers, never a payload. */
  readonly audit?: Readonly<Record<string, unknown>>;
}

/** One operation of the API, beside its description in `docs/openapi/v1.yaml`. */
export interface EndpointDefinition<Path extends string, Q, B, C extends Caller> {
  /** `operationId` of the description; label `endpoint` of the metric. */
  readonly operation: string;
  readonly method: "GET" | "POST";
  /** As in the description. What may stand for each name: `PATH_PARAMETERS`. */
  readonly path: Path;
  /** Of the query. Default: it takes none. Whatever it does not name is refused. */
  readonly query?: z.ZodType<Q>;
  /** JSON object of at most 64 KiB. Default: it takes none. */
  readonly body?: z.ZodType<B>;
  readonly takesIdempotencyKey?: boolean;
  /** All of them are demanded, before anything is told of what exists. */
  readonly rights: (call: Call<PathValues<Path>, Q, B, C>) => readonly Right[] | Promise<readonly Right[]>;
  /** @throws Refused, CustodyError */
  readonly handle: (call: Call<PathValues<Path>, Q, B, C>) => Promise<Answer>;
}

/** An endpoint whose input the listener reads by its schemas. */
export type Endpoint<C extends Caller = Caller> = EndpointDefinition<string, unknown, unknown, C>;

/** An endpoint, its input typed by its schemas. */
export function endpoint<Path extends string, Q = object, B = undefined, C extends Caller = Caller>(
  definition: EndpointDefinition<Path, Q, B, C>,
): Endpoint<C> {
  return definition as unknown as Endpoint<C>;
}
