import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { parseText } from "../lib/json-source.ts";
import { nearest } from "../lib/nearest.ts";
import { isRecord } from "../lib/record.ts";
import { declaredLength, readBody, type BodyResult } from "../lib/request-body.ts";
import type { Endpoint } from "./endpoint.ts";
import { PATH_PARAMETERS } from "./parameters.ts";
import { type InputProblem, invalid, Refused } from "./refusals.ts";

/** Largest body, bytes. */
const MAX_BODY_BYTES = 65_536;
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** What a request brings, as its endpoint's schemas have it. */
export interface Input {
  readonly path: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly idempotencyKey: string | undefined;
}

/**
 * Reads everything a request brings and says at once what is wrong with it.
 * @param path decoded values of the path's names
 * @throws Refused `RequestInvalid`, `RequestTooLarge`, `NotJson`
 */
export async function readInput(
  endpoint: Pick<Endpoint, "query" | "body" | "takesIdempotencyKey">,
  request: IncomingMessage,
  path: Readonly<Record<string, string>>,
): Promise<Input> {
  const problems: InputProblem[] = [];
  const { query = z.strictObject({}), body, takesIdempotencyKey = false } = endpoint;
  const input = {
    path: read(pathSchema(path), path, problems),
    query: readQuery(query, request.url ?? "", problems),
    idempotencyKey: readKey(request, takesIdempotencyKey, problems),
    body: await jsonBody(request, body, problems),
  };
  if (problems.length > 0) throw invalid(problems);
  return input;
}

const SCHEMAS: Readonly<Record<string, z.ZodType<string>>> = PATH_PARAMETERS;

function pathSchema(path: Readonly<Record<string, string>>) {
  return z.object(Object.fromEntries(Object.keys(path).map((name) => [name, SCHEMAS[name] ?? z.never()])));
}

function readQuery(schema: z.ZodType, url: string, problems: InputProblem[]): unknown {
  const mark = url.indexOf("?");
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(mark < 0 ? "" : url.slice(mark))) {
    if (values.has(name)) problems.push({ field: name, message: "was sent more than once" });
    values.set(name, value);
  }
  return read(schema, Object.fromEntries(values), problems);
}

function readKey({ headersDistinct }: IncomingMessage, isTaken: boolean, problems: InputProblem[]): string | undefined {
  const values = headersDistinct["idempotency-key"];
  if (!isTaken || values === undefined) return undefined;
  const [key = "", ...others] = values;
  if (others.length === 0 && IDEMPOTENCY_KEY.test(key)) return key;
  problems.push({ field: "Idempotency-Key", message: "must be one value of 1 to 255 printable ASCII characters" });
  return undefined;
}

async function jsonBody(
  request: IncomingMessage,
  schema: z.ZodType | undefined,
  problems: InputProblem[],
): Promise<unknown> {
  const bytes = await bodyOf(request);
  if (schema === undefined) {
    if (bytes.length > 0) problems.push({ field: "body", message: "this endpoint takes none: send none" });
    return undefined;
  }
  if (!isUtf8(bytes)) throw new Refused("NotJson");
  // Nothing is an object without fields: a call that restricts nothing needs no body.
  const parsed = bytes.length === 0 ? { ok: true as const, value: {} } : parseText(bytes.toString("utf8"));
  if (!parsed.ok || !isRecord(parsed.value)) throw new Refused("NotJson");
  return read(schema, parsed.value, problems);
}

/** @throws Refused `RequestTooLarge` */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  if ((declaredLength(request) ?? 0) > MAX_BODY_BYTES) throw new Refused("RequestTooLarge");
  const body = await new Promise<BodyResult>((resolve) => {
    if (request.destroyed && !request.complete) resolve("aborted");
    else readBody(request, MAX_BODY_BYTES, resolve);
  });
  if (body === "tooLarge") throw new Refused("RequestTooLarge");
  if (body === "aborted") throw new Refused("NotJson", { detail: "the connection went before the body's end" });
  return body;
}

function read(schema: z.ZodType, value: unknown, problems: InputProblem[]): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) problems.push(...problemsOf(issue, schema));
  return undefined;
}

function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType): readonly InputProblem[] {
  const field = issue.path.map(String).join(".");
  if (issue.code !== "unrecognized_keys") return [{ field: field || "body", message: issue.message }];
  return issue.keys.map((key) => unknownField(issue.path.map(String), key, schema));
}

function unknownField(path: readonly string[], key: string, schema: z.ZodType): InputProblem {
  const names = namesAt(schema, path);
  const meant = nearest(key, names);
  const hint = meant === undefined ? `there is ${names.join(", ") || "none"}` : `did you mean ${meant}?`;
  return { field: [...path, key].join(".").slice(0, 128), message: `is not known here; ${hint}` };
}

/** Fields that a schema has at a place. */
function namesAt(schema: z.ZodType, path: readonly string[]): readonly string[] {
  let at: unknown = schema;
  for (const step of path) at = shapeOf(at)[step];
  return Object.keys(shapeOf(at));
}

function shapeOf(schema: unknown): Readonly<Record<string, unknown>> {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return shapeOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in);
  return schema instanceof z.ZodObject ? schema.shape : {};
}
