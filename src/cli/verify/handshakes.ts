import { isDeepStrictEqual } from "node:util";
import { CommandError, type Io } from "../command.ts";
import { readInput } from "../input-file.ts";
import { type Handshake, type Recorded, replay } from "./replay.ts";

/**
 * `davit verify --handshakes FILE`: replays a JSON array of recorded handshakes against the gateway's code, one JSON line each.
 *
 * @returns 0 when every answer was as recorded, else 1
 * @throws CommandError when the file cannot be read or holds no array
 */
export async function replayHandshakes(file: string, { stdout }: Io): Promise<number> {
  let code = 0;
  for (const recorded of casesOf(file, await readInput("--handshakes", file))) {
    const why = await judge(recorded);
    const { provider = "", scheme = "" } = isHandshake(recorded) ? recorded : {};
    if (why !== undefined) code = 1;
    stdout.write(`${JSON.stringify({ provider, scheme, ok: why === undefined, ...(why !== undefined && { why }) })}\n`);
  }
  return code;
}

function casesOf(file: string, content: Buffer): readonly unknown[] {
  let cases: unknown;
  try {
    cases = JSON.parse(content.toString());
  } catch (error) {
    throw new CommandError(`--handshakes: ${file} is not JSON; an array of handshakes is needed`, { cause: error });
  }
  if (Array.isArray(cases)) return cases as unknown[];
  throw new CommandError(`--handshakes: ${file} holds no JSON array; an array of handshakes is needed`);
}

function isHandshake(value: unknown): value is Handshake {
  if (typeof value !== "object" || value === null) return false;
  return "provider" in value && "request" in value && "response" in value;
}

async function judge(recorded: unknown): Promise<string | undefined> {
  if (!isHandshake(recorded)) return "no handshake: provider, request and response are needed";
  try {
    const seen = await replay(recorded);
    return difference(recorded, seen);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** What of the answer is not as recorded; `undefined`: nothing. */
export function difference({ response }: Handshake, seen: Recorded): string | undefined {
  if (seen.status !== response.status) return `status ${seen.status} instead of ${response.status}`;
  return (
    headerDifference(response, seen) ??
    bodyDifference(response, seen) ??
    (seen.enqueued > 0 ? "an event was enqueued" : undefined) ??
    (seen.unconfirmed === undefined ? undefined : `${seen.unconfirmed} was not asked`)
  );
}

function headerDifference({ contentType, headers = {} }: Handshake["response"], seen: Recorded): string | undefined {
  const type = seen.headers["content-type"];
  if (contentType !== undefined && mediaType(type) !== mediaType(contentType)) {
    return `content-type ${type ?? "missing"} instead of ${contentType}`;
  }
  const wrong = Object.entries(headers).find(([name, value]) => seen.headers[name.toLowerCase()] !== value);
  return wrong && `header ${wrong[0]} is ${seen.headers[wrong[0].toLowerCase()] === undefined ? "missing" : "another"}`;
}

/** RFC 9110 §8.3.1: without parameters, in any case. */
function mediaType(text: string | undefined): string | undefined {
  return text?.split(";")[0]?.trim().toLowerCase();
}

function bodyDifference({ bodyOneOf, json }: Handshake["response"], { body }: Recorded): string | undefined {
  if (bodyOneOf && !bodyOneOf.includes(body)) return "the body is none of those that are expected";
  if (json === undefined) return undefined;
  try {
    return isDeepStrictEqual(JSON.parse(body), json) ? undefined : "the body holds other JSON than expected";
  } catch {
    return "the body is not JSON";
  }
}
