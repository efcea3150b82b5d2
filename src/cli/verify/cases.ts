import { judgeCase, type SignatureCase } from "../../verification/vectors.ts";
import { CommandError, type Io } from "../command.ts";
import { readInput } from "../input-file.ts";

/**
 * `davit verify --cases FILE`: judges every case of a JSON array of signature vectors, one JSON line each.
 *
 * @returns 0: all were judged, whatever the verdicts; 1: one at least is of an unknown scheme, or no case
 * @throws CommandError when the file cannot be read or holds no array
 */
export async function judgeCases(file: string, { stdout }: Io): Promise<number> {
  let code = 0;
  for (const testCase of casesOf(file, await readInput("--cases", file))) {
    const line = lineOf(testCase);
    if (line.error !== undefined) code = 1;
    stdout.write(`${JSON.stringify(line)}\n`);
  }
  return code;
}

function casesOf(file: string, content: Buffer): readonly unknown[] {
  let cases: unknown;
  try {
    cases = JSON.parse(content.toString());
  } catch (error) {
    throw new CommandError(`--cases: ${file} is not JSON; an array of signature vectors is needed`, { cause: error });
  }
  if (Array.isArray(cases)) return cases as unknown[];
  throw new CommandError(`--cases: ${file} holds no JSON array; an array of signature vectors is needed`);
}

function lineOf(testCase: unknown): { id: string; valid: boolean; error?: string } {
  if (!isCase(testCase))
    return { id: "", valid: false, error: "no case: id, scheme, secret, headers, bodyBase64 needed" };
  const { id } = testCase;
  const result = judgeCase(testCase);
  if ("unsupported" in result) return { id, valid: false, error: result.unsupported };
  return { id, valid: result.verdict.ok };
}

function isCase(value: unknown): value is SignatureCase {
  if (typeof value !== "object" || value === null) return false;
  return ["id", "scheme", "secret", "headers", "bodyBase64"].every((field) => field in value);
}
