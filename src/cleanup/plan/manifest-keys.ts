import { pointerTokens } from "../../lib/json-source.ts";
import { isRecord } from "../../lib/record.ts";

/** A manifest that does not say which keys it names. Its message names the place, never what stands there. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
  readonly code = "manifest_invalid";
}

/** As tables of data lakes and file systems name their files: no key that is cleaned begins so, as no `prefixTemplate` does, and none would be protected. */
const ADDRESS = /^([A-Za-z][A-Za-z0-9+.-]*:\/)?\//;

/** Most keys of one manifest. */
const MAX_KEYS = 1_000_000;

/**
 * The keys that a manifest names.
 *
 * @param keysFrom `lines`: a key a line, empty ones aside. `json:/POINTER`: a key or a list of keys there; a step `*` stands for every element of a list
 * @throws {@link ManifestError} when it is not UTF-8 or JSON, when the pointer leads nowhere, or to anything but text, or to addresses
 */
export function manifestKeys(body: Buffer, keysFrom: string): string[] {
  const text = decode(body);
  const keys = keysFrom === "lines" ? lines(text) : jsonKeys(text, keysFrom);
  if (keys.length > MAX_KEYS) throw new ManifestError(`it names more than ${MAX_KEYS} keys`);
  if (keys.some((key) => ADDRESS.test(key)))
    throw new ManifestError("it names addresses or paths, such as s3://bucket/key or /key, and not keys");
  return keys;
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new ManifestError("it is no UTF-8");
  }
}

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))
    .filter((line) => line !== "");
}

function jsonKeys(text: string, keysFrom: string): string[] {
  const found = valuesAt(parse(text), pointerTokens(keysFrom.slice("json:".length)), keysFrom);
  // The last step may lead to a list of keys as well as to a key.
  return found
    .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .map((value) => {
      if (typeof value === "string") return value;
      throw new ManifestError(`what stands at ${keysFrom} is not text`);
    });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ManifestError("it is no JSON");
  }
}

function valuesAt(root: unknown, steps: readonly string[], keysFrom: string): readonly unknown[] {
  let values: readonly unknown[] = [root];
  for (const step of steps) values = values.flatMap((value) => follow(value, step, keysFrom));
  return values;
}

function follow(value: unknown, step: string, keysFrom: string): readonly unknown[] {
  if (step === "*" && Array.isArray(value)) return value;
  const next = Array.isArray(value) ? elementAt(value, step) : memberOf(value, step);
  // A place that is not there may be a manifest of another form: what it names is then not known.
  if (next === undefined) throw new ManifestError(`there is nothing at ${keysFrom}`);
  return [next];
}

function elementAt(list: readonly unknown[], step: string): unknown {
  return /^(0|[1-9]\d{0,8})$/.test(step) ? list[Number(step)] : undefined;
}

function memberOf(value: unknown, step: string): unknown {
  return isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}
