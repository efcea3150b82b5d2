import { VerificationConfigError } from "../verification/config.ts";
import { explain } from "../verification/explain/explain.ts";
import type { Explanation } from "../verification/explain/question.ts";
import { type Command, CommandError, type Io, outputFormat, parse, printJson } from "./command.ts";
import { judgeCases } from "./verify/cases.ts";
import { replayHandshakes } from "./verify/handshakes.ts";
import { questionOf } from "./verify/question.ts";

const OPTIONS = {
  cases: { type: "string" },
  handshakes: { type: "string" },
  provider: { type: "string" },
  route: { type: "string" },
  "data-dir": { type: "string", default: ".davit" },
  "secret-file": { type: "string", multiple: true },
  "previous-secret-file": { type: "string", multiple: true },
  "next-secret-file": { type: "string", multiple: true },
  parameter: { type: "string", multiple: true },
  material: { type: "string", multiple: true },
  input: { type: "string", short: "i" },
  header: { type: "string", multiple: true },
  body: { type: "string" },
  now: { type: "string" },
  method: { type: "string" },
  url: { type: "string" },
  tolerance: { type: "string" },
  output: { type: "string", short: "o" },
} as const;

type Values = ReturnType<typeof parse<typeof OPTIONS>>["values"];

const USAGE = `davit verify --provider NAME --secret-file FILE --header 'Name: value' … --body FILE [flags]
davit verify --provider NAME --secret-file FILE -i FILE [flags]
davit verify --route NAME -i FILE [flags]
davit verify --cases FILE
davit verify --handshakes FILE

Says whether a signature matches, and if not, what is most likely the matter: it tries other forms of secret, body, URL, header and time.
Shows no secret, signature or body, and fetches nothing. Exit code 1 when the signature does not match.

  --provider NAME      davit providers lists them
  --route NAME         of the davit dev that runs: its provider, parameters, publicUrl and keys, previous ones included
  --data-dir DIR       of that davit dev; default .davit
  --secret-file FILE   the secret; one trailing line end is left out; several are all tried
  --previous-secret-file FILE, --next-secret-file FILE
                       secrets that do not count, but may be the ones the sender uses
  --parameter N=VALUE  as in verification.parameters; repeat it
  --material FILE      the provider's certificate (PEM) or public key (PEM, JWK), for AWS SNS, PayPal, Plaid
  -i, --input FILE     the raw request: headers, an empty line, the body
  --header 'N: value'  a request header; repeat it
  --body FILE          the body, byte for byte as it was received
  --url URL            that the sender signed, for schemes that sign it (verification.publicUrl)
  --method METHOD      default: POST, or that of -i
  --now SECONDS        Unix time to hold a timestamp against; default: this machine's clock
  --tolerance SECONDS  default: the provider's
  -o table|json        json: {"valid","reason","detail","key","findings"}
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
    return explainOne(values, io);
  },
};

async function explainOne(values: Values, io: Io): Promise<number> {
  const format = outputFormat(values.output);
  const question = await questionOf(values);
  try {
    const explanation = explain(question);
    if (format === "json") printJson(io, jsonOf(explanation));
    else io.stdout.write(textOf(explanation));
    return explanation.verdict.ok ? 0 : 1;
  } catch (error) {
    if (error instanceof VerificationConfigError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

/** The verdict and its likeliest cause in the first line, what else was found below it. */
function textOf({ verdict, findings }: Explanation): string {
  const [first, ...more] = findings.map(({ message }) => message);
  const head = verdict.ok ? `valid: ${first}` : `invalid: ${verdict.reason}: ${first}`;
  return `${[head, ...more.map((message) => `  ${verdict.ok ? "" : "and: "}${message}`)].join("\n")}\n`;
}

function jsonOf({ verdict, findings }: Explanation): unknown {
  if (verdict.ok) return { valid: true, ...(verdict.key && { key: verdict.key.state }), findings };
  const { reason, detail } = verdict;
  return { valid: false, reason, detail, findings };
}
