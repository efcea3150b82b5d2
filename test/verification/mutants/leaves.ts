import type { Vector } from "../../support/vectors.ts";
import type { Mutation, Random } from "./mutation.ts";
import { textChanges } from "./texts.ts";
import { hasTime, timeChanges } from "./times.ts";

/** Schemes that read the body: what stands there is changed value by value. */
const READ: ReadonlySet<string> = new Set([
  "adyen-item",
  "graph-client-state",
  "linear",
  "mailgun-body",
  "sns-v1",
  "sns-v2",
]);

/** Other values of any type for each value of the body. */
const OTHER_VALUES: readonly unknown[] = [null, 0, 1, true, "", [], {}, ["x"], 1e21, -1];

/** Changes of each value of a body that the scheme reads. */
export function leafMutations(vector: Vector, random: Random): readonly Mutation[] {
  if (!READ.has(vector.scheme)) return [];
  const text = Buffer.from(vector.bodyBase64, "base64").toString("utf8");
  const value: unknown = JSON.parse(text);
  const mutations: Mutation[] = [...batches(value)];
  for (const path of leafPaths(value)) {
    const at = `/${path.join("/")}`;
    const put = (what: string, leaf: unknown) =>
      mutations.push(mutation(`${at}: ${what}`, replaced(value, path, leaf)));
    put("missing", undefined);
    for (const other of OTHER_VALUES) put(JSON.stringify(other), other);
    const old = path.reduce<unknown>((here, name) => Reflect.get(here as object, name) as unknown, value);
    if (typeof old === "number") for (const by of [1, -1, 0.5]) put(`by ${by}`, old + by);
    put("as text", String(old));
    if (typeof old !== "string") continue;
    put("in a list", [old]);
    if (/^\d+$/.test(old)) put("as number", Number(old));
    const times = hasTime(old) ? timeChanges(old, vector.toleranceSec ?? 300) : [];
    for (const [what, changed] of [...textChanges(old, random), ...times]) put(what, changed);
  }
  return mutations;
}

/** Several of what came, of which one is wrong. */
function batches(value: unknown): readonly Mutation[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, list]) => {
    if (!Array.isArray(list) || list.length === 0) return [];
    const good: unknown = list[0];
    const bad: unknown = JSON.parse(JSON.stringify(good).replaceAll(/[a-z0-9](?=")/g, "0"));
    const orders = Object.entries({ "good, good": [good, good], "good, bad": [good, bad], "bad, good": [bad, good] });
    return [...orders, ["good, null", [good, null]] as const].map(([what, items]) =>
      mutation(`/${name}: ${what}`, { ...value, [name]: items }),
    );
  });
}

function mutation(what: string, value: unknown): Mutation {
  return { what: `body${what}`, changes: { bodyBase64: Buffer.from(JSON.stringify(value)).toString("base64") } };
}

function leafPaths(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    ...(path.length > 0 ? [path] : []),
    ...Object.entries(value).flatMap(([name, member]) => leafPaths(member, [...path, name])),
  ];
}

function replaced(value: unknown, [name, ...rest]: readonly string[], leaf: unknown): unknown {
  if (name === undefined) return leaf;
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
  Reflect.set(copy, name, replaced(Reflect.get(copy, name), rest, leaf));
  return copy;
}
