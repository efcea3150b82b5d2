import { presets } from "../verification/presets/index.ts";
import { keysOf, plainRequest } from "../verification/vectors.ts";
import { createVerifier } from "../verification/verifier.ts";
import { type Command, type Io, parse, UsageError } from "./command.ts";
import { readInput, readSecret } from "./input-file.ts";
import { judgeCases } from "./verify/cases.ts";
import { replayHandshakes } from "./verify/handshakes.ts";

const OPTIONS = {
  cases: { type: "string" },
  handshakes: { type: "string" },
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
davit verify --handshakes FILE

Says whether a signature matches, and if not, why.

  --provider NAME      ${[...presets.keys()].join(", ")}
  --secret-file FILE   the secret; one trailing line end is left out; several are all tried
  --header 'N: value'  a request header; repeat it
  --body FILE          the body, byte for byte as it was received
  --now SECONDS        Unix time to hold a timestamp against; default: this machine's clock
  --tolerance SECONDS  default: the provider's
  --method, --url      for schemes that sign them
  --cases FILE         a JSON array of signature vectors; prints {"id","valid"} for each
  --handshakes FILE    a JSON array of handshakes; prints {"provider","scheme","ok"} for each
`;

/** `davit verify`: exit code 0 when the signature matches (or all cases were judged), 1 when it does not or a file cannot be read. */
export const command: Command = {
  name: "verify",
  summary: "say whether a webhook's signature matches, and if not, why",
  usage: USAGE,
  async run(argv, io) {
    const { values } = parse(argv, OPTIONS);
    if (values.cases !== undefined) return judgeCases(values.cases, io);
    if (values.handshakes !== undefined) return replayHandshakes(values.handshakes, io);
    return judgeOne(values, io);
  },
};

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
  throw new UsageError("give --provider, --secret-file and --body, or --cases or --handshakes");
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
