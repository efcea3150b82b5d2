import type { Preset } from "../../verification/presets/preset.ts";
import { keysOf } from "../../verification/vectors.ts";
import type { Sender } from "./request.ts";

// Fixtures of tests over all providers; not part of the build.

/** A secret that every scheme can read: 64 characters (Contentful), which are hex (Adyen) and base64 (Standard Webhooks) alike. */
const ANY_SECRET = "00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef";

/** Secrets of a provider: Box has two. */
export function secretsOf({ name }: Preset): readonly string[] {
  return name === "box" ? [ANY_SECRET, ANY_SECRET.toUpperCase()] : [ANY_SECRET];
}

/** A sender with all defaults of its preset. */
export function senderAs(preset: Preset, url: string): Sender {
  return {
    verification: { type: "provider", provider: preset.name },
    parameters: {},
    sources: preset.dedupe,
    requiredFields: preset.payload.requiredFields,
    publicUrl: url,
    keys: keysOf(secretsOf(preset)),
  };
}
