import { Secret } from "../../lib/secret.ts";
import type { Question } from "../../verification/explain/question.ts";
import type { PlainRequest } from "../../verification/explain/variants.ts";
import { presets } from "../../verification/presets/index.ts";
import type { KeyState, VerificationKey } from "../../verification/types.ts";
import { presetOf } from "../../verification/verifier.ts";
import { UsageError } from "../command.ts";
import { routeNamed } from "../dev/route-named.ts";
import { readInput, readSecret } from "../input-file.ts";
import { parseParameters } from "../parameters.ts";
import { signingKeys } from "../signing-keys.ts";
import { readMaterial } from "./material.ts";
import { parseRawRequest, type RawRequest, readHeaders } from "./raw-request.ts";

/** Flags of `davit verify` that say what is to be explained. */
export interface QuestionFlags {
  readonly provider?: string | undefined;
  readonly route?: string | undefined;
  readonly "data-dir": string;
  readonly "secret-file"?: string[] | undefined;
  readonly "previous-secret-file"?: string[] | undefined;
  readonly "next-secret-file"?: string[] | undefined;
  readonly parameter?: string[] | undefined;
  readonly material?: string[] | undefined;
  readonly input?: string | undefined;
  readonly header?: string[] | undefined;
  readonly body?: string | undefined;
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly now?: string | undefined;
  readonly tolerance?: string | undefined;
}

type Route = Pick<Question, "config" | "parameters" | "idHeader" | "keys" | "otherKeys" | "dedupe" | "toleranceMs"> & {
  readonly publicUrl?: string;
};

/**
 * What the flags ask.
 * @throws UsageError, CommandError
 */
export async function questionOf(flags: QuestionFlags): Promise<Question> {
  const { publicUrl, ...route } = flags.route === undefined ? await ofProvider(flags) : ofRoute(flags, flags.route);
  const tolerance = seconds("--tolerance", flags.tolerance);
  return {
    ...route,
    request: await requestOf(flags, publicUrl),
    material: await Promise.all((flags.material ?? []).map(readMaterial)),
    now: seconds("--now", flags.now) ?? Date.now(),
    ...(tolerance !== undefined && { toleranceMs: tolerance }),
  };
}

async function ofProvider(flags: QuestionFlags): Promise<Route> {
  const provider = providerOf(flags);
  const [keys, previous, next] = await Promise.all([
    keysIn("--secret-file", flags["secret-file"], "current"),
    keysIn("--previous-secret-file", flags["previous-secret-file"], "previous"),
    keysIn("--next-secret-file", flags["next-secret-file"], "next"),
  ]);
  return {
    config: { type: "provider", provider },
    parameters: parseParameters(flags.parameter ?? []),
    keys,
    otherKeys: [...previous, ...next],
  };
}

function providerOf({ provider, "secret-file": files, body, input }: QuestionFlags): string {
  if (provider !== undefined && !presets.has(provider)) {
    throw new UsageError(`--provider: "${provider}" is unknown; davit providers lists them`);
  }
  const hasBody = body !== undefined || input !== undefined;
  if (provider === undefined || !hasBody || (files === undefined && presetOf(provider).secrets.signing !== "none")) {
    throw new UsageError("give --provider, --secret-file and --body, or --cases or --handshakes");
  }
  return provider;
}

function ofRoute(flags: QuestionFlags, wanted: string): Route {
  if (flags.provider !== undefined || flags["secret-file"] !== undefined || flags.parameter !== undefined) {
    throw new UsageError(
      "--route knows provider, secrets and parameters: leave --provider, --secret-file and --parameter out",
    );
  }
  if (flags.body === undefined && flags.input === undefined)
    throw new UsageError("give the request's --body, or all of it with -i");
  const { entry } = routeNamed(flags["data-dir"], wanted, "--provider and --secret-file");
  const idHeader = entry.dedupe.sources.find((source) => source.from === "header")?.name;
  return {
    config: entry.verification,
    parameters: entry.parameters,
    ...(idHeader !== undefined && { idHeader }),
    keys: signingKeys(entry),
    dedupe: { sources: entry.dedupe.sources, withoutId: entry.dedupe.withoutId ?? "Refuse" },
    toleranceMs: entry.toleranceMs,
    publicUrl: entry.publicUrl,
  };
}

function keysIn(flag: string, files: readonly string[] | undefined, state: KeyState): Promise<VerificationKey[]> {
  return Promise.all(
    (files ?? []).map(async (file, index) => ({
      id: `${state}-${index}`,
      state,
      secret: Secret.of(await readSecret(flag, file)),
    })),
  );
}

async function requestOf(flags: QuestionFlags, publicUrl: string | undefined): Promise<PlainRequest> {
  const raw = await rawRequest(flags.input);
  const given = readHeaders(flags.header ?? [], () => {
    throw new UsageError(`--header: write 'Name: value'`);
  });
  const url = flags.url ?? publicUrl ?? guessedUrl(raw);
  const path = raw.target?.replace(/^https?:\/\/[^/?#]*/, "") ?? pathOf(url);
  return {
    method: flags.method ?? raw.method ?? "POST",
    url: withQuery(url, path),
    path,
    headers: { ...raw.headers, ...given },
    body: flags.body === undefined ? (raw.body ?? Buffer.alloc(0)) : await readInput("--body", flags.body),
  };
}

async function rawRequest(file: string | undefined): Promise<RawRequest> {
  return file === undefined ? { headers: {}, body: undefined } : parseRawRequest(file, await readInput("-i", file));
}

/** As the gateway does: the query that was received belongs to a public URL that has none of its own. */
function withQuery(url: string, path: string): string {
  const at = path.indexOf("?");
  return at === -1 || url.includes("?") ? url : url + path.slice(at);
}

/** Only a guess, since `Host` is what the last hop said: said to the user if the signature covers the URL and does not match. */
function guessedUrl({ headers, target = "" }: RawRequest): string {
  const host = headers["host"]?.[0];
  if (/^https?:/.test(target) || host === undefined) return target;
  return `https://${host}${target}`;
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname + new URL(url).search : "/";
}

/** Seconds on the command line, in ms. */
function seconds(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new UsageError(`${option}: "${text}" is not a number of seconds`);
  return Number(text) * 1_000;
}
