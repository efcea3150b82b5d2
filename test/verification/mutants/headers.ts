import type { Vector } from "../../support/vectors.ts";
import type { Mutation, Random } from "./mutation.ts";
import { textChanges } from "./texts.ts";
import { hasTime, timeChanges } from "./times.ts";

/** Headers that no signature has anything to do with, whatever the scheme. */
const OTHERS = new Set(["content-type", "protocol"]);

/** Every header changed, repeated, renamed and left out. */
export function headerMutations(vector: Vector, random: Random): readonly Mutation[] {
  const names = Object.keys(vector.headers).filter((name) => !OTHERS.has(name));
  return [
    ...names.flatMap((name) => ofOne(vector, name, String(vector.headers[name]), random)),
    changed("no headers", {}),
    changed(
      "names in upper case",
      Object.fromEntries(Object.entries(vector.headers).map(([name, value]) => [name.toUpperCase(), value])),
    ),
    ...contentTypes(vector),
  ];
}

function changed(what: string, headers: Vector["headers"]): Mutation {
  return { what, changes: { headers } };
}

function ofOne(vector: Vector, name: string, value: string, random: Random): readonly Mutation[] {
  const { [name]: _left, ...others } = vector.headers;
  const texts = textChanges(value, random);
  const times = hasTime(value) ? timeChanges(value, vector.toleranceSec ?? 300) : [];
  return [
    ...[...texts, ...times].map(([what, text]) => changed(`${name}: ${what}`, { ...others, [name]: text })),
    changed(`${name}: missing`, others),
    ...repeated(name, value, others),
  ];
}

function repeated(name: string, value: string, others: Vector["headers"]): readonly Mutation[] {
  const wrong = value.replaceAll(/[0-9]/g, "0");
  const pairs: readonly (readonly [string, readonly string[]])[] = [
    ["sent twice", [value, value]],
    ["good, then bad", [value, wrong]],
    ["bad, then good", [wrong, value]],
    ["good, then empty", [value, ""]],
    ["empty, then good", ["", value]],
  ];
  return [
    ...pairs.map(([what, values]) => changed(`${name}: ${what}`, { ...others, [name]: values })),
    changed(`${name}: sent in two cases`, { ...others, [name]: value, [name.toUpperCase()]: value }),
    changed(`${name}: under another name`, { ...others, [`${name}-x`]: value }),
    changed(`${name}: with underscores`, { ...others, [name.replaceAll("-", "_")]: value }),
  ];
}

/** What the body is said to be matters where forms are signed by field (Twilio). */
function contentTypes(vector: Vector): readonly Mutation[] {
  return ["application/json", "text/plain", "application/x-www-form-urlencoded; charset=UTF-8", ""].map((type) =>
    changed(`content-type: ${type}`, { ...vector.headers, "content-type": type }),
  );
}
