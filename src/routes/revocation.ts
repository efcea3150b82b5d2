import { REVOKE_ANNOTATION } from "../api/names.ts";
import type { RouteEntry } from "./entry.ts";
import { revokePrevious } from "./key-ring.ts";
import { signingKeysOf, withSigningKeys } from "./signing-keys.ts";

/**
 * The command of a route to end every previous key now.
 *
 * @param handled the command that is known to be carried out
 * @returns its RFC 3339 time; `undefined` when there is none, it is `handled`, or it is no time
 */
export function revokeCommand(
  annotations: Readonly<Record<string, string>> | undefined,
  handled?: string,
): string | undefined {
  const at = annotations?.[REVOKE_ANNOTATION];
  return at === undefined || at === handled || Number.isNaN(Date.parse(at)) ? undefined : at;
}

/**
 * Whether a command is still to be carried out over what is published. The entry says so itself, as one write with the keys: a status that is written
 * after it may be late, and a key that was replaced meanwhile must not go as well.
 */
export function isRevocationDue(command: string | undefined, published: RouteEntry | undefined): boolean {
  return command !== undefined && command !== published?.revokedAt;
}

/** An entry without its previous keys: neither those that verify nor those that sign. */
export function withoutPreviousKeys(entry: RouteEntry): RouteEntry {
  const revoked = { ...entry, keys: revokePrevious(entry.keys) };
  const signingKeys = signingKeysOf(entry);
  return signingKeys === undefined ? revoked : withSigningKeys(revoked, revokePrevious(signingKeys));
}

/** An entry that says which command was carried out last: this one, or else the one before. */
export function withRevocation(
  entry: RouteEntry,
  command: string | undefined,
  published: RouteEntry | undefined,
): RouteEntry {
  const revokedAt = command ?? published?.revokedAt;
  return revokedAt === undefined ? entry : { ...entry, revokedAt };
}
