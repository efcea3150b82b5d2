import { keptBytes } from "../lib/kept-bytes.ts";
import { fieldOf, isRecord } from "../lib/record.ts";
import type { Problem } from "./problem.ts";

/** A Kubernetes Secret, decoded. */
export interface SecretObject {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `stringData` wins over `data`, as in the API server. */
  readonly data: ReadonlyMap<string, Buffer>;
}

/**
 * Decodes a Secret's manifest. Messages name keys, never values.
 *
 * @param namespace where it lies when the manifest does not say
 */
export function readSecret(
  object: unknown,
  namespace: string,
): { readonly secret?: SecretObject; readonly problems: readonly Problem[] } {
  const metadata = fieldOf(object, "metadata");
  const name = fieldOf(metadata, "name");
  if (typeof name !== "string" || name === "") {
    return { problems: [problem("metadata.name", "Required value")] };
  }
  const decoded = new Map<string, Buffer>();
  const problems = [
    ...readEntries("data", fieldOf(object, "data") ?? {}, (key, text) => {
      if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text) || text.replaceAll(/\s/g, "").length % 4 !== 0) return false;
      decoded.set(key, keptBytes(text, "base64"));
      return true;
    }),
    ...readEntries("stringData", fieldOf(object, "stringData") ?? {}, (key, text) => {
      decoded.set(key, keptBytes(text, "utf8"));
      return true;
    }),
  ];
  if (problems.length > 0) return { problems };
  const written = fieldOf(metadata, "namespace");
  const secret = {
    namespace: typeof written === "string" ? written : namespace,
    name,
    labels: readLabels(fieldOf(metadata, "labels")),
    data: decoded,
  };
  return { secret, problems };
}

function readEntries(field: string, entries: unknown, take: (key: string, text: string) => boolean): Problem[] {
  if (!isRecord(entries)) return [problem(field, "must be of type object")];
  return Object.entries(entries).flatMap(([key, value]) => {
    if (typeof value !== "string") return [problem(`${field}.${key}`, "must be of type string: put it in quotes")];
    if (take(key, value)) return [];
    return [problem(`${field}.${key}`, "is no base64: encode the value, or move it to stringData")];
  });
}

function readLabels(labels: unknown): Record<string, string> {
  const pairs = isRecord(labels) ? Object.entries(labels) : [];
  return Object.fromEntries(pairs.flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])));
}

function problem(path: string, message: string): Problem {
  return { path, message, source: "manifest", severity: "error" };
}
