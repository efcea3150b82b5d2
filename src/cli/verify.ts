import { presets } from "../verification/presets/index.ts";
import { judgeCase, keysOf, plainRequest, type SignatureCase } from "../verification/vectors.ts";
import { createVerifier } from "../verification/verifier.ts";
import { type Command, CommandError, type Io, parse, UsageError } from "./command.ts";
import { readInput, readSecret } from "./input-file.ts";

const OPTIONS = {
  cases: { type: "string" },
  provider: { type: "string" },
  "secret-file": { type: "string", multiple: true },
  header: { type: "string", multiple: true },
  body: { type: "string" },
  now: { type: "string" },
  method: { type: "string" },
  url: { type: "string" },
  tolerance: { type: "string" },
} as const;

type Values = ReturnType<typeof parse<typeof OPTIONS>>["values"];

const USAGE = `davit verify --provider NAME --secret-file FILE --header 'Name: value' … --body FILE [--now SECONDS]
davit verify --cases FILE

Says whether a signature matches, and if not, why.

  --provider NAME      ${[...presets.keys()].join(", ")}
  --secret-file FILE   the secret; one trailing line end is left out; several are all tried
  --header 'N: value'  a request header; repeat it
  --body FILE          the body, byte for byte as it was received
  --now SECONDS        Unix time to hold a timestamp against; default: this machine's clock
  --tolerance SECONDS  default: the provider's
  --method, --url      for schemes that sign them
  --cases FILE         a JSON array of signature vectors; prints {"id","valid"} for each
`;

/** `davit verify`: exit code 0 when the signature matches (or all cases were judged), 1 when it does not or a file cannot be read. */
export const command: Command = {
  name: "verify",
  summary: "say whether a webhook's signature matches, and if not, why",
  usage: USAGE,
  async run(argv, io) {
    const { values } = parse(argv, OPTIONS);
    return values.cases === undefined ? judgeOne(values, io) : judgeAll(values.cases, io);
  },
};

async function judgeAll(file: string, { stdout }: Io): Promise<number> {
  for (const testCase of casesOf(file, await readInput("--cases", file))) {
    stdout.write(`${JSON.stringify(lineOf(testCase))}\n`);
  }
  return 0;
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
  try {
    const result = judgeCase(testCase);
    if ("unsupported" in result) return { id, valid: false, error: result.unsupported };
    return { id, valid: result.verdict.ok };
  } catch (error) {
    return { id, valid: false, error: error instanceof Error ? error.message : String(error) };
  }
}

function isCase(value: unknown): value is SignatureCase {
  if (typeof value !== "object" || value === null) return false;
  return ["id", "scheme", "secret", "headers", "bodyBase64"].every((field) => field in value);
}

async function judgeOne(values: Values, { stdout }: Io): Promise<number> {
  const { provider, body } = required(values);
  const secrets = await Promise.all((values["secret-file"] ?? []).map((file) => readSecret("--secret-file", file)));
  const tolerance = seconds("--tolerance", values.tolerance);
  const verifier = createVerifier(
    { type: "provider", provider },
    { ...(tolerance !== undefined && { toleranceMs: tolerance }) },
  );
  const url = values.url ?? "";
  const request = plainRequest({
    method: values.method ?? "POST",
    url,
    path: URL.canParse(url) ? new URL(url).pathname + new URL(url).search : "/",
    headers: parseHeaders(values.header ?? []),
    body: await readInput("--body", body),
  });
  const keys = keysOf(secrets);
  const verdict = verifier.verify(request, keys, seconds("--now", values.now) ?? Date.now());
  stdout.write(verdict.ok ? "valid: the signature matches\n" : `invalid: ${verdict.reason}: ${verdict.detail}\n`);
  return verdict.ok ? 0 : 1;
}

function required({ provider, body, "secret-file": secrets }: Values): { provider: string; body: string } {
  if (provider !== undefined && !presets.has(provider)) {
    throw new UsageError(`--provider: "${provider}" is unknown; davit providers lists them`);
  }
  if (provider !== undefined && body !== undefined && secrets !== undefined) return { provider, body };
  throw new UsageError("give --provider, --secret-file and --body, or --cases");
}

/** Seconds on the command line, in ms. */
function seconds(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new UsageError(`${option}: "${text}" is not a number of seconds`);
  return Number(text) * 1_000;
}

function parseHeaders(lines: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new UsageError(`--header: write 'Name: value'`);
    const name = line.slice(0, colon).trim().toLowerCase();
    headers[name] = [...(headers[name] ?? []), line.slice(colon + 1).trim()];
  }
  return headers;
}
