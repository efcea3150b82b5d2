import { hash } from "node:crypto";
import { readUsable, type Secrets, type Unresolved } from "./observed-keys.ts";

/** Fewest characters of a token: as many as 128 bits have in Base64, and a shorter one can be guessed. */
const LEAST = 22;
/** What can be sent after `Bearer` (RFC 6750 §2.1). */
const SENDABLE = /^[A-Za-z0-9._~+/-]+=*$/;

/** Names a key of a Secret. */
type KeyRef = Parameters<typeof readUsable>[0];

/**
 * SHA-256 of the token that opens the listener of destinations, hex. One that can be guessed, or that nobody can send, opens nothing.
 * @param path for what is missing
 */
export function readAccessToken(ref: KeyRef, secrets: Secrets, path: string): { readonly hash: string } | Unresolved {
  const found = readUsable(ref, secrets, path);
  if (!("value" in found)) return found;
  const text = found.value.toString("latin1");
  if (SENDABLE.test(text) && text.length >= LEAST) return { hash: hash("sha256", found.value) };
  const message = `key ${ref.key} of Secret ${ref.name} is no token: it needs at least ${LEAST} characters, only of A-Z a-z 0-9 . _ ~ + / - and = at the end; openssl rand -hex 32 makes one`;
  return { path, reason: "TokenUnusable", message };
}
