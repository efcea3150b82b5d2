import { isRecord } from "../../../lib/record.ts";

/**
 * The JSON merge patch (RFC 7386) that makes `after` of `before`: fields that are gone are `null`, lists are whole.
 * @returns `undefined` when there is nothing to change
 */
export function mergePatchOf(before: object, after: object): Readonly<Record<string, unknown>> | undefined {
  const from = new Map<string, unknown>(Object.entries(before));
  const to = new Map<string, unknown>(Object.entries(after).filter(([, value]) => value !== undefined));
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...from.keys(), ...to.keys()])) {
    const change = changeOf(from.get(name), to.get(name));
    if (change !== undefined) patch[name] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function changeOf(from: unknown, to: unknown): unknown {
  if (to === undefined) return from === undefined ? undefined : null;
  if (isRecord(from) && isRecord(to)) return mergePatchOf(from, to);
  return JSON.stringify(from) === JSON.stringify(to) ? undefined : to;
}
