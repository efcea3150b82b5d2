import { REVOKE_ANNOTATION } from "../api/names.ts";
import type { RouteEntry } from "./entry.ts";
import { revokePrevious } from "./key-ring.ts";
import { signingKeysOf, withSigningKeys } from "./signing-keys.ts";

/**
 * The command to end every previous key now.
 *
 * @param annotations of the route
 * @param handled the command that was carried out last
 * @returns its RFC 3339 time; `undefined` when there is none, it was carried out already, or it is no time
 */
export function revokeCommand(
  annotations: Readonly<Record<string, string>> | undefined,
  handled: string | undefined,
): string | undefined {
  const at = annotations?.[REVOKE_ANNOTATION];
  return at === undefined || at === handled || Number.isNaN(Date.parse(at)) ? undefined : at;
}

/** An entry as it is once its previous keys were ended: those that verify and those that sign. */
export function withoutPreviousKeys(entry: RouteEntry): RouteEntry {
  const revoked = { ...entry, keys: revokePrevious(entry.keys) };
  const signingKeys = signingKeysOf(entry);
  return signingKeys === undefined ? revoked : withSigningKeys(revoked, revokePrevious(signingKeys));
}
