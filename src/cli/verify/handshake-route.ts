import type { RouteEntry } from "../../routes/entry.ts";
import type { KeyUse } from "../../verification/types.ts";
import { presetNameOf } from "../../verification/vector-schemes.ts";
import { presetOf } from "../../verification/verifier.ts";
import type { Preset } from "../../verification/presets/preset.ts";
import { type CaseRoute, compileCaseRoute } from "./case-route.ts";
import type { Handshake } from "./replay.ts";

const HOST = "hooks.example.com";

/** Parameters that hold what a case calls its secret, for providers whose trust comes from elsewhere. */
const SECRET_PARAMETERS = ["topicArn", "webhookId"];

/** The handshake mode of a route to which a provider hands over a secret. */
const MODE = "handshake";

/**
 * The route of a recorded handshake. Its secret is a signing key, a token to compare, or a parameter, as the preset has it.
 *
 * @throws VerificationConfigError `UnknownProvider`
 * @throws CommandError when no route can be made of it
 */
export function handshakeRoute(recorded: Handshake, now: number): RouteEntry {
  const preset = presetOf(presetNameOf(recorded.provider));
  const path = recorded.request.path.split("?")[0] ?? "/";
  return compileCaseRoute(
    {
      provider: preset.name,
      host: HOST,
      path,
      publicUrl: publicUrlOf(recorded) ?? `https://${HOST}${path}`,
      parameters: parametersOf(preset, recorded),
      secrets: secretsOf(preset, recorded),
      name: "handshake",
    },
    now,
  );
}

/** The endpoint as typed in at the provider, wherever a case says it: eBay's answer depends on it. */
function publicUrlOf({ request, extra = {}, note = "" }: Handshake): string | undefined {
  const host = Object.entries(request.headers ?? {}).find(([name]) => name.toLowerCase() === "host")?.[1];
  const named = [
    request.url,
    ...Object.values(extra),
    ...(note.match(/https:\/\/[\w.:-]+\/[\w./-]*\w/g) ?? []),
    ...(typeof host === "string" ? [`https://${host}${request.path}`] : []),
  ].find((value): value is string => typeof value === "string" && /^https?:\/\/\S+$/.test(value));
  return named?.split("?")[0];
}

function parametersOf({ parameters }: Preset, recorded: Handshake): CaseRoute["parameters"] {
  const secret = [recorded.secret ?? []].flat()[0];
  return Object.fromEntries(
    parameters.flatMap(({ name }) => {
      const given = recorded.extra?.[name];
      if (typeof given === "string") return [[name, given]];
      if (SECRET_PARAMETERS.includes(name) && secret !== undefined) return [[name, secret]];
      // A file has no field for the mode: an answer of 2xx is one of a route that takes a new secret.
      return name === MODE && recorded.response.status < 300 ? [[name, "Open"]] : [];
    }),
  );
}

function secretsOf({ secrets, parameters }: Preset, { secret, extra = {} }: Handshake): CaseRoute["secrets"] {
  if (parameters.some(({ name }) => SECRET_PARAMETERS.includes(name))) return [];
  const texts = [secret ?? []].flat();
  const named = extra["verifyToken"] ?? extra["verificationToken"];
  const hasKeys = secrets.signing !== "none";
  const tokens = typeof named === "string" ? [named] : sharesToken(secrets) ? texts : [];
  return [...keysFor("Signing", hasKeys ? texts : []), ...keysFor("VerifyToken", tokens), ...credentials(secrets)];
}

/** Where the provider signs with a key of its own (eBay), or not at all, what it shares with the route is the token. */
function sharesToken({ signing, others = [] }: Preset["secrets"]): boolean {
  return signing === "none" || (signing === "public-key" && others.includes("VerifyToken"));
}

function keysFor(use: KeyUse, texts: readonly string[]): CaseRoute["secrets"] {
  return texts.map((text) => ({ value: Buffer.from(text), use }));
}

/** Nobody is asked for anything, but a route without its credential is none. */
function credentials({ others = [] }: Preset["secrets"]): CaseRoute["secrets"] {
  return others.includes("ApiCredential") ? keysFor("ApiCredential", ["credential"]) : [];
}
