import type { StoredObject } from "./object.ts";

/** Whether an object is meant by `labelSelector` (`a=b`, `a!=b`, `a`, `!a`) and `fieldSelector` (`metadata.name=x`). */
export function isSelected(object: StoredObject, labelSelector: string | null, fieldSelector: string | null): boolean {
  const labels = object.metadata.labels ?? {};
  return (
    terms(labelSelector).every((term) => matches(term, (name) => labels[name])) &&
    terms(fieldSelector).every((term) => matches(term, (path) => fieldAt(object, path)))
  );
}

const terms = (selector: string | null) => (selector ?? "").split(",").filter((term) => term !== "");

function matches(term: string, valueOf: (name: string) => string | undefined): boolean {
  const [, name = "", operator, value = ""] = /^(!?[^=!]+)(!=|==?)?(.*)$/.exec(term) ?? [];
  if (operator === undefined)
    return name.startsWith("!") ? valueOf(name.slice(1)) === undefined : valueOf(name) !== undefined;
  return (valueOf(name) === value) === (operator !== "!=");
}

function fieldAt(object: unknown, path: string): string | undefined {
  const value = path
    .split(".")
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], object);
  return typeof value === "string" ? value : undefined;
}
