import { hash } from "node:crypto";
import { equals } from "../lib/equals.ts";
import { decodeDigest } from "./encoding.ts";
import { refuse, type Refusal } from "./refusal.ts";
import { checkTimestamp } from "./timestamp.ts";

type JwtClaims = Readonly<Record<string, unknown>>;

/**
 * Holds the times of a token against the clock: `iat` both ways by the tolerance when it is the claim that counts, `exp` and `nbf` exactly whenever they are
 * there (RFC 7519 §4.1.4, §4.1.5). Times are whole seconds.
 *
 * @param timeClaim must be there
 * @returns Unix ms of `iat`, if that is the claim that counts, and until when the token is good (Infinity: tolerance 0 and no `exp`)
 */
export function checkTimes(
  claims: JwtClaims,
  timeClaim: "iat" | "exp",
  now: number,
  toleranceMs: number,
): { readonly signedAt: number | undefined; readonly goodUntil: number } | Refusal {
  const [iat, exp, nbf] = [secondsOf(claims, "iat"), secondsOf(claims, "exp"), secondsOf(claims, "nbf")];
  const counts = timeClaim === "iat" ? iat : exp;
  if (counts === undefined || counts === "malformed" || exp === "malformed" || nbf === "malformed") {
    return refuse(
      "TimestampMalformed",
      `the token's ${timeClaim}, exp or nbf is missing or not a whole number of seconds`,
    );
  }
  const late = checkValidity(exp, nbf, now);
  if (late) return late;
  if (timeClaim === "exp") return { signedAt: undefined, goodUntil: counts * 1_000 };
  const signedAt = counts * 1_000;
  return (
    checkTimestamp(signedAt, now, toleranceMs, "seconds") ?? {
      signedAt,
      goodUntil: goodUntil(signedAt, toleranceMs, exp),
    }
  );
}

function goodUntil(signedAt: number, toleranceMs: number, exp = Infinity): number {
  return Math.min(exp * 1_000, toleranceMs === 0 ? Infinity : signedAt + toleranceMs);
}

function checkValidity(exp = Infinity, nbf = -Infinity, now: number): Refusal | undefined {
  if (now >= exp * 1_000) {
    return refuse("TimestampExpired", `the token expired ${Math.floor(now / 1_000) - exp} s ago`);
  }
  if (now < nbf * 1_000) {
    return refuse("TimestampInFuture", `the token is not good before ${nbf - Math.floor(now / 1_000)} s from now`);
  }
  return undefined;
}

function secondsOf(claims: JwtClaims, name: string): number | "malformed" | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (value === undefined) return undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : "malformed";
}

/** The id of a token (RFC 7519 §4.1.7), which no other token has; `undefined` when it has none. */
export function tokenId(claims: JwtClaims): string | undefined {
  const value = Object.hasOwn(claims, "jti") ? claims["jti"] : undefined;
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Whether a claim holds the SHA-256 of the body in lower-case hex. Compared in constant time. */
export function coversBody(claims: JwtClaims, claim: string, body: Buffer): boolean {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const claimed = typeof value === "string" ? decodeDigest(value, "hex-lower", 32) : undefined;
  return claimed !== undefined && equals(claimed, hash("sha256", body, "buffer"));
}
