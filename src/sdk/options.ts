import { parseDuration } from "../lib/duration.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { VerificationConfigError } from "../verification/config.ts";
import { checkParameters } from "../verification/parameters.ts";
import { presets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { schemeOf, signsUrl } from "../verification/verifier.ts";
import type { Queue } from "./queue.ts";
import { queueRoute } from "./route.ts";

/** `max` requests of one client address at once, a quota that fills up again evenly over `windowMs`. */
export interface RateLimit {
  readonly windowMs: number;
  readonly max: number;
}

/** The options of `createServer` that decide which requests are taken. */
export interface IngestSettings {
  /** Shared with the sender; at least 16 characters. */
  readonly secret: string;
  /** Header with `sha256=<hex of HMAC-SHA256 over the body>`, the hex in any case. Default `x-signature`. Not with `provider`. */
  readonly signatureHeader?: string;
  /** A preset's name instead of the generic signature: `github`, `stripe`, … */
  readonly provider?: string;
  /**
   * The URL as it is set up at the sender, for providers that sign it (`twilio`, `square`, `trello`, `hubspot`, …): scheme, host, path, and the query if it
   * always has one. Never taken from a request.
   */
  readonly publicUrl?: string;
  /** What the provider's preset asks for besides the secret, for example `{ webhookId: "…" }`. Only with `provider`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Largest distance between a signed timestamp and the clock, for example `300s`. Default: the preset's. */
  readonly tolerance?: string;
  /** Bytes, or a text such as `256kb` or `1mb`. Default `256kb`. */
  readonly maxBodyBytes?: number | string;
  /** Requests at a time before 429. Default 1000. */
  readonly maxInFlight?: number;
  /** How long a delivery is known, seconds. Default one week. */
  readonly dedupeTtlSeconds?: number;
  /** Off by default. */
  readonly rateLimit?: RateLimit | false;
}

type DedupeOfPreset = Pick<Preset, "dedupe" | "withoutId" | "bodyExcept" | "idWithBody">;

const NO_PRESET: DedupeOfPreset = { dedupe: [], withoutId: "Signature" };
const MIN_SECRET = 16;
const WEEK_SECONDS = 604_800;
const DEFAULT_BODY = "256kb";
const MAX_BODY = 26_214_400;
const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1_024, mb: 1_048_576 };

/**
 * Turns the options into the route that the gateway serves.
 * @throws TypeError naming the option and what it must be; never with the secret
 */
export function serverRoute(queue: Queue, settings: IngestSettings): RouteEntry {
  const preset = presetOf(settings.provider);
  return queueRoute(queue, {
    verification: preset
      ? { type: "provider", provider: preset.name }
      : {
          type: "hmac",
          header: headerName(settings.signatureHeader ?? "x-signature"),
          algorithm: "sha256",
          encoding: "hex",
          prefix: "sha256=",
          signedContent: "{body}",
        },
    keys: [
      {
        id: "00000000",
        use: "Signing",
        state: "current",
        since: 0,
        value: secretOf(settings.secret).toString("base64"),
      },
    ],
    toleranceMs:
      settings.tolerance === undefined ? (preset?.toleranceMs ?? 300_000) : parseDuration(settings.tolerance),
    dedupe: dedupeOf(settings, preset ?? NO_PRESET),
    limits: limitsOf(settings),
    publicUrl: publicUrlOf(settings, preset),
    parameters: parametersOf(settings, preset),
    response: { status: preset?.ack.status ?? 202 },
  });
}

function dedupeOf(
  { dedupeTtlSeconds = WEEK_SECONDS }: IngestSettings,
  { dedupe: sources, withoutId, bodyExcept, idWithBody }: DedupeOfPreset,
): RouteEntry["dedupe"] {
  const windowMs = wholeNumber("dedupeTtlSeconds", dedupeTtlSeconds, 1, 400 * 86_400) * 1_000;
  return {
    windowMs,
    weakWindowMs: windowMs,
    earlierWindows: [],
    sources,
    disabled: false,
    withoutId,
    ...(bodyExcept && { bodyExcept }),
    ...(idWithBody === true && { idWithBody }),
  };
}

/** As the manifest's `verification.publicUrl`. */
const PUBLIC_URL = /^https?:\/\/([^/?#@\s]+@)?[^/?#@\s]+(\/[^?#\s]*)?([?][^#\s]*)?$/;
const MAX_URL = 2_048;

function publicUrlOf({ publicUrl, parameters }: IngestSettings, preset: Preset | undefined): string {
  if (publicUrl === undefined) {
    if (preset === undefined || !signsUrl(schemeOf(preset.scheme, parameters))) return "";
    throw new TypeError(`publicUrl is needed: ${preset.title} signs the URL that is set up there`);
  }
  if (publicUrl.length <= MAX_URL && PUBLIC_URL.test(publicUrl)) return publicUrl;
  throw new TypeError(
    "publicUrl must be an http or https URL without a fragment, exactly as it is set up at the sender",
  );
}

function parametersOf({ parameters = {} }: IngestSettings, preset: Preset | undefined): RouteEntry["parameters"] {
  if (preset === undefined) {
    if (Object.keys(parameters).length === 0) return {};
    throw new TypeError("parameters go with a provider, and there is none");
  }
  try {
    checkParameters(preset, parameters);
  } catch (error) {
    if (error instanceof VerificationConfigError) throw new TypeError(error.message, { cause: error });
    throw error;
  }
  return parameters;
}

function limitsOf({
  maxBodyBytes = DEFAULT_BODY,
  maxInFlight = 1_000,
  rateLimit,
}: IngestSettings): RouteEntry["limits"] {
  return {
    maxBodyBytes: bodyLimit(maxBodyBytes),
    maxInFlightPerPod: wholeNumber("maxInFlight", maxInFlight, 1, 100_000),
    maxBacklog: Number.MAX_SAFE_INTEGER,
    ...(rateLimit && { rateLimit: clientRate(rateLimit) }),
  };
}

function presetOf(provider: string | undefined) {
  if (provider === undefined) return undefined;
  const preset = presets.get(provider);
  if (preset !== undefined) return preset;
  throw new TypeError(`provider "${provider}" is not known; known are ${[...presets.keys()].join(", ")}`);
}

function secretOf(secret: unknown): Buffer {
  if (typeof secret !== "string" || secret.length < MIN_SECRET) {
    throw new TypeError(`secret must be a text of at least ${MIN_SECRET} characters`);
  }
  return Buffer.from(secret);
}

function headerName(name: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name))
    throw new TypeError("signatureHeader must be the name of a header");
  return name.toLowerCase();
}

function clientRate({ windowMs, max }: RateLimit): NonNullable<RouteEntry["limits"]["rateLimit"]> {
  const requests = wholeNumber("rateLimit.max", max, 1, 1_000_000);
  return {
    requests,
    perMs: wholeNumber("rateLimit.windowMs", windowMs, 1, 86_400_000),
    burst: requests,
    by: "SourceIP",
  };
}

/** `262144`, `"262144"`, `"256kb"`, `"1mb"`, as Express's parsers write it. */
function bodyLimit(limit: number | string): number {
  const [, amount, unit = "b"] = /^(\d+)\s*(b|kb|mb)?$/i.exec(String(limit)) ?? [];
  if (amount === undefined) throw new TypeError("maxBodyBytes must be a number of bytes or a text such as 256kb");
  return wholeNumber("maxBodyBytes", Number(amount) * (UNITS[unit.toLowerCase()] ?? 1), 1, MAX_BODY);
}

function wholeNumber(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new TypeError(`${name} must be a whole number from ${min} to ${max}`);
}
