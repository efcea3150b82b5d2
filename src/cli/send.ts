import { randomUUID } from "node:crypto";
import { fieldOf } from "../lib/record.ts";
import { VerificationConfigError } from "../verification/config.ts";
import { presets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { keysOf } from "../verification/vectors.ts";
import { presetOf } from "../verification/verifier.ts";
import { type Command, CommandError, type Io, parse, UsageError, wholeNumber } from "./command.ts";
import { routeNamed } from "./dev/route-named.ts";
import { readInput, readSecret } from "./input-file.ts";
import { parseParameters } from "./parameters.ts";
import { type Answer, post } from "./send/post.ts";
import { type Sender, senderOf, signMessage } from "./send/request.ts";

const USAGE = `davit send --route NAME [flags]
davit send --url URL --provider NAME --secret-file FILE [flags]

Signs a message and posts it as the provider would. Exit code 1 if an answer is not 2xx (with --bad-signature: not 401).

  --route NAME         of the davit dev that runs: name or namespace/name; knows URL and secret
  --data-dir DIR       of that davit dev; default .davit
  --url URL            where to post
  --provider NAME      davit providers lists them; not those whose key to sign only the provider has
  --secret-file FILE   its secret; one trailing line end is left out; several where the provider has several (Box)
  --parameter N=VALUE  as in verification.parameters; repeat it
  --public-url URL     that is signed where a scheme signs it (verification.publicUrl); default: --url
  --data TEXT          the body; default: a sample of the provider
  --data-file FILE     the body from a file, byte for byte
  --id ID              delivery id; default: a new one each time. The same one again is a duplicate
  --bad-signature      sign with another secret
  --count N            send N messages, one after the other; default 1
`;

const OPTIONS = {
  route: { type: "string" },
  "data-dir": { type: "string", default: ".davit" },
  url: { type: "string" },
  provider: { type: "string" },
  "secret-file": { type: "string", multiple: true },
  parameter: { type: "string", multiple: true },
  "public-url": { type: "string" },
  data: { type: "string" },
  "data-file": { type: "string" },
  id: { type: "string" },
  "bad-signature": { type: "boolean", default: false },
  count: { type: "string", default: "1" },
} as const;

type Values = ReturnType<typeof parse<typeof OPTIONS>>["values"];

/** Where to send, and as whom. */
interface Destination {
  readonly url: string;
  readonly host?: string;
  readonly sender: Sender;
}

/** `davit send`: posts a signed message. */
export const command: Command = {
  name: "send",
  summary: "sign a message and post it as the provider would",
  usage: USAGE,
  async run(argv, io) {
    const { values } = parse(argv, OPTIONS);
    const count = wholeNumber("--count", values.count, [1, 1_000_000]);
    const destination = values.route === undefined ? await explicit(values) : ofDev(values, values.route);
    const body = await bodyOf(values);
    let refused = 0;
    for (let n = 0; n < count; n++) {
      const answer = await sendOne(destination, values, body);
      io.stdout.write(`${describe(answer)}\n`);
      const isRight = values["bad-signature"] ? answer.status === 401 : answer.status >= 200 && answer.status < 300;
      if (!isRight) refused += 1;
    }
    return count === 1 || refused === 0 ? Number(refused > 0) : summarise(io, refused, count);
  },
};

function summarise(io: Io, refused: number, count: number): number {
  io.stderr.write(`${refused} of ${count} were not answered as they should\n`);
  return 1;
}

async function sendOne({ url, host, sender }: Destination, values: Values, body: Buffer | undefined): Promise<Answer> {
  const draft = {
    id: values.id ?? `msg_${randomUUID()}`,
    // A body of the user's own is only changed when an id for it was given.
    idInBody: body === undefined || values.id !== undefined,
    badSignature: values["bad-signature"],
    now: Date.now(),
    ...(body !== undefined && { body }),
  };
  const { pathname, search } = new URL(url);
  try {
    const { path, ...message } = signMessage(sender, pathname + search, draft);
    return await post(new URL(path, url).href, { ...message, ...(host !== undefined && { host }) });
  } catch (error) {
    if (error instanceof VerificationConfigError) throw cannotSend(error, sender);
    const { message, code } = error as NodeJS.ErrnoException;
    throw new CommandError(`no answer from ${url.replace(/\/\/[^/?#]*@/, "//")}: ${code ?? message}`, { cause: error });
  }
}

/** What can be done instead, where only the provider can sign. */
function cannotSend(error: VerificationConfigError, { verification }: Sender): CommandError {
  const preset = verification.type === "provider" ? presetOf(verification.provider) : undefined;
  if (error.code !== "CannotSign" || preset === undefined || preset.secrets.signing === "shared") {
    return new CommandError(error.message, { cause: error });
  }
  const remedy = `have ${preset.title} send a test (${preset.documentation}), or check a request that it sent with davit verify -i`;
  return new CommandError(
    `${preset.title} signs with a private key that only ${preset.title} has, so nobody else can send as it: ${remedy}`,
    { cause: error },
  );
}

function ofDev(values: Values, wanted: string): Destination {
  if (values.url !== undefined || values.provider !== undefined) {
    throw new UsageError("--route knows URL and provider: leave --url and --provider out");
  }
  const { entry, gateway } = routeNamed(values["data-dir"], wanted, "--url, --provider and --secret-file");
  return { url: gateway + entry.path, host: entry.host, sender: senderOf(entry) };
}

async function explicit(values: Values): Promise<Destination> {
  const { url, preset } = target(values);
  const secrets = await Promise.all((values["secret-file"] ?? []).map((file) => readSecret("--secret-file", file)));
  if (secrets.length === 0 && preset.secrets.signing === "shared") {
    throw new UsageError(`--secret-file is missing: ${preset.secrets.description}`);
  }
  return {
    url,
    sender: {
      verification: { type: "provider", provider: preset.name },
      parameters: parseParameters(values.parameter ?? []),
      sources: preset.dedupe,
      requiredFields: preset.payload.requiredFields,
      publicUrl: values["public-url"] ?? url,
      keys: keysOf(secrets),
    },
  };
}

function target({ url, provider }: Values): { readonly url: string; readonly preset: Preset } {
  if (url === undefined || provider === undefined) {
    throw new UsageError("name a --route of a running davit dev, or --url, --provider and --secret-file");
  }
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw new UsageError(`--url: "${url}" is not an http or https URL`);
  if (!presets.has(provider)) throw new UsageError(`--provider: "${provider}" is unknown; davit providers lists them`);
  return { url, preset: presetOf(provider) };
}

async function bodyOf({ data, "data-file": file }: Values): Promise<Buffer | undefined> {
  if (data !== undefined && file !== undefined) throw new UsageError("give one of --data and --data-file");
  if (file !== undefined) return readInput("--data-file", file);
  return data === undefined ? undefined : Buffer.from(data);
}

/** `202 accepted as 01J…`, `202 duplicate of 01J…`, `401 SignatureMismatch: the signature does not match`. */
function describe({ status, headers, body }: Answer): string {
  const parsed = parseJson(body);
  const id = headers["davit-event-id"];
  if (status >= 200 && status < 300) {
    const replayed = fieldOf(parsed, "replayed");
    // 204 has no body to say whether it was new.
    const fate = replayed === undefined ? "in custody as" : replayed === true ? "duplicate of" : "accepted as";
    return `${status} ${typeof id === "string" ? `${fate} ${id}` : body.slice(0, 200)}`.trim();
  }
  const error = fieldOf(parsed, "error");
  const message = fieldOf(parsed, "message");
  return typeof error === "string"
    ? `${status} ${error}: ${String(message)}`
    : `${status} ${body.slice(0, 200).trim()}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
