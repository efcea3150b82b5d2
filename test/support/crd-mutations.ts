import type { StructuralSchema } from "../../src/api/crd.ts";

/** A variant of an accepted object that differs in one place. */
export interface Mutation {
  /** Schema path and what was done, e.g. `.spec.destinations[].name: maxLength + 1`. */
  readonly name: string;
  readonly object: unknown;
}

/** Texts that a pattern, a format or a rule may treat specially; only where there is one. */
// biome-ignore format: in groups
const TEXTS = [
  "", " ", "A", "-", "a.b", "a..b", "a/b", "\u00e9", "a\nb", "1", "-1",
  "0s", "5s", "5", "1h30m", "1.5h", "-5s", "5d", "25h", "169h", "721h",
  "/a", "/a/../b", "header:X", "json:/a", "http://a", "https://a/b?c", "https://u@a/",
  "10.0.0.0/8", "10.0.0.1/8", "10.0.0.0/33", "::/0", "2001:db8::1/64",
  "2100-01-01T00:00:00Z", "2100-01-01T00:00:00.5+02:00", "2100-02-30T00:00:00Z", "2100-01-01",
  "500m", "1.5Gi", "1e3",
];

type Change = [what: string, value: unknown];

function textChanges(schema: StructuralSchema): Change[] {
  const { minLength, maxLength, enum: allowed = [], pattern, format } = schema;
  const lengths = [minLength, maxLength].filter((length) => length !== undefined);
  const isSpecial = pattern !== undefined || format !== undefined;
  return [
    ...(isSpecial ? TEXTS : [""]).map((text): Change => [JSON.stringify(text), text]),
    ...lengths.flatMap((length) =>
      [-1, 0, 1].map((by): Change => [`length ${length + by}`, "a".repeat(Math.max(0, length + by))]),
    ),
    ...allowed.map((value): Change => [`value ${String(value)}`, value]),
  ];
}

function numberChanges({ minimum = 0, maximum = 0 }: StructuralSchema): Change[] {
  const around = [minimum, maximum].flatMap((bound) => [bound - 1, bound, bound + 1]);
  return [...around, 0, -1, 1.5, 2 ** 31, 1e19].map((value) => [String(value), value]);
}

function listChanges(schema: StructuralSchema, list: readonly unknown[]): Change[] {
  const { maxItems = 0 } = schema;
  return [
    ["no items", []],
    ["first item twice", [list[0], list[0]]],
    [`${maxItems} items`, distinct(list[0], maxItems)],
    [`${maxItems + 1} items`, distinct(list[0], maxItems + 1)],
  ];
}

/** Copies of an item that differ in their name, or their text. */
function distinct(item: unknown, count: number): unknown[] {
  const change = (at: number) => {
    if (typeof item === "string") return `${item}${at}`;
    if (typeof item !== "object" || item === null) return item;
    const key = ["name", "key", "topologyKey"].find((each) => each in item);
    return key === undefined ? item : { ...item, [key]: `${String((item as Record<string, unknown>)[key])}${at}` };
  };
  return Array.from({ length: count }, (_, at) => change(at));
}

function objectChanges(schema: StructuralSchema, object: Readonly<Record<string, unknown>>): Change[] {
  const { maxProperties } = schema;
  const without = (key: string) => Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]));
  return [
    ...Object.keys(object).map((key): Change => [`without ${key}`, without(key)]),
    ["empty", {}],
    ...(schema.additionalProperties === undefined
      ? [["unknown field", { ...object, unheardOf: 1 }] satisfies Change]
      : []),
    ...(maxProperties === undefined
      ? []
      : [0, 1].map((by): Change => [`${maxProperties + by} properties`, many(maxProperties + by)])),
  ];
}

const OF_OTHER_TYPES: readonly unknown[] = ["text", 1.5, true, null, {}, []];

/** Limits as text: leaves that share them need their texts tried once only. */
function limitsOf(schema: StructuralSchema): string {
  return JSON.stringify({ ...schema, description: undefined });
}

function changes(schema: StructuralSchema, value: unknown, seen: Set<string>): Change[] {
  const limits = limitsOf(schema);
  const others = OF_OTHER_TYPES.map((other): Change => [JSON.stringify(other), other]);
  if (Array.isArray(value)) return [...others, ...listChanges(schema, value)];
  if (typeof value === "string" && seen.has(limits)) return others;
  seen.add(limits);
  if (typeof value === "string") return [...others, ...textChanges(schema)];
  if (typeof value === "number") return [...others, ...numberChanges(schema)];
  if (typeof value === "object" && value !== null)
    return [...others, ...objectChanges(schema, value as Record<string, unknown>)];
  return [...others, ["false", false]];
}

/**
 * Variants of an object, each broken (or not) in one place by the limits that its schema sets there: types, lengths, bounds, patterns,
 * formats, enumerations, required and unknown fields, repeated elements.
 * @param seen schema paths (and limits) that another object has served already; those of this one are added
 */
export function mutationsOf(schema: StructuralSchema, object: unknown, seen: Set<string>): Mutation[] {
  const mutations: Mutation[] = [];
  const visit = (node: StructuralSchema, value: unknown, path: string, put: (changed: unknown) => unknown): void => {
    if (value === null) return;
    if (!seen.has(path)) {
      seen.add(path);
      for (const [what, changed] of changes(node, value, seen))
        mutations.push({ name: `${path}: ${what}`, object: put(changed) });
    }
    if (Array.isArray(value)) {
      value.forEach((item, at) =>
        visit(node.items ?? {}, item, `${path}[]`, (changed) => put(value.with(at, changed))),
      );
    } else if (typeof value === "object" && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        const childSchema = node.properties?.[key] ?? node.additionalProperties;
        const childPath = node.properties?.[key] === undefined ? `${path}.*` : `${path}.${key}`;
        if (childSchema !== undefined)
          visit(childSchema, child, childPath, (changed) => put({ ...value, [key]: changed }));
      }
    }
  };
  const spec = (object as { spec: unknown }).spec;
  visit(schema.properties?.["spec"] ?? {}, spec, ".spec", (changed) => ({ ...(object as object), spec: changed }));
  return mutations;
}

/** Every path of a schema's spec, as `mutationsOf` writes them. */
export function schemaPaths(schema: StructuralSchema): string[] {
  const paths: string[] = [];
  const visit = (node: StructuralSchema, path: string): void => {
    paths.push(path);
    for (const [key, child] of Object.entries(node.properties ?? {})) visit(child, `${path}.${key}`);
    if (node.items !== undefined) visit(node.items, `${path}[]`);
    if (node.additionalProperties !== undefined) visit(node.additionalProperties, `${path}.*`);
  };
  visit(schema.properties?.["spec"] ?? {}, ".spec");
  return paths;
}
