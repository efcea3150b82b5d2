import { Secret } from "../../lib/secret.ts";
import type { VerificationKey } from "../types.ts";
import { finding, type FindingCode } from "./finding.ts";
import type { Variant } from "./variants.ts";

type Change = (secret: string) => string | undefined;

/** Ways in which a secret is written wrongly, likely ones first. Text is latin1: one character a byte. */
const CHANGES: readonly (readonly [FindingCode, Change])[] = [
  ["SecretBlanks", (text) => text.trim()],
  ["SecretQuotes", (text) => /^\s*(["'`])(.*)\1\s*$/s.exec(text)?.[2]],
  ["SecretEnvLine", (text) => /^\s*(?:export )?[A-Za-z_][A-Za-z0-9_]*=["']?(.*?)["']?\s*$/s.exec(text)?.[1]],
  ["SecretBase64", (text) => decoded(text, "base64")],
  ["SecretBase64", (text) => decoded(text.replace(/^(v1,)?whsec_/, ""), "base64")],
  ["SecretHex", (text) => decoded(text, "hex")],
  ["SecretPrefix", (text) => text.replace(/^v1,/, "")],
  ["SecretPrefix", (text) => text.replace(/^(v1,)?whsec_/, "")],
  ["SecretPrefixMissing", (text) => `whsec_${text}`],
  ["SecretNotBase64", (text) => Buffer.from(text, "latin1").toString("base64")],
  ["SecretNotBase64", (text) => Buffer.from(text.replace(/^(v1,)?whsec_/, ""), "latin1").toString("base64")],
  ["SecretNotHex", (text) => Buffer.from(text, "latin1").toString("hex")],
  ["SecretLineEnd", (text) => `${text}\n`],
  ["SecretLineEnd", (text) => `${text}\r\n`],
];

/** The secrets, written another way. */
export const SECRET_VARIANTS: readonly Variant[] = CHANGES.map(([code, change]) => ({
  finding: finding(code),
  change: ({ request, keys }) => {
    const changed = keys.flatMap((key) => rewritten(key, change));
    return changed.length === 0 ? undefined : { request, keys: changed };
  },
}));

function rewritten(key: VerificationKey, change: Change): VerificationKey[] {
  const text = key.secret.reveal().toString("latin1");
  const changed = change(text);
  return changed === undefined || changed === text || changed === ""
    ? []
    : [{ ...key, secret: Secret.of(changed, "latin1") }];
}

/** Canonical forms only: nearly every text is base64 to a decoder that forgives. */
function decoded(text: string, encoding: "base64" | "hex"): string | undefined {
  const form = encoding === "hex" ? /^([0-9a-f]{2}){4,}$/i : /^[A-Za-z0-9+/_-]{6,}={0,2}$/;
  return form.test(text) ? Buffer.from(text, encoding).toString("latin1") : undefined;
}
