import { compileCaseRoute } from "../../src/cli/verify/case-route.ts";
import { CommandError } from "../../src/cli/command.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { findHandshake } from "../../src/verification/handshakes/find.ts";
import { presetOf } from "../../src/verification/verifier.ts";
import { bindCase, requestOf, type SignatureCase } from "../../src/verification/vectors.ts";
import type { WireRequest } from "../support/vector-gateway.ts";

/** A case as a request to a route. */
export interface WireCase {
  /** The case as it arrives: blanks around header values are gone (RFC 9110 §5.5). */
  readonly arrived: SignatureCase;
  readonly entry: RouteEntry;
  readonly request: WireRequest;
  /** The request is an unsigned handshake of the provider: its signature decides nothing. */
  readonly unsigned: boolean;
}

/** What a refused request may get: anything else would tell a provider something else. */
const REFUSED = new Set([400, 401, 413, 422]);

/** `accepted`, `refused`, or what else the answer was. A handshake is answered with 200. */
export function outcomeOf(status: number, { entry }: WireCase): string {
  if (status === entry.response.status || status === 200) return "accepted";
  return REFUSED.has(status) ? "refused" : `status ${status}`;
}

/** Routes by what they are made of: thousands of cases need a few hundred. */
const entries = new Map<string, RouteEntry | undefined>();

/**
 * The case as bytes and a compiled route.
 *
 * @param own gives the case a route of its own, where what one request leaves behind decides on the next
 * @returns `undefined` when no HTTP client could send it, or no manifest says such a route
 */
export function wireCase(testCase: SignatureCase, own = false): WireCase | undefined {
  const arrived = { ...testCase, headers: trimmed(testCase.headers) };
  if (!isSendable(arrived)) return undefined;
  const entry = entryOf(arrived, own ? arrived.id : "");
  if (entry === undefined) return undefined;
  const query = arrived.url?.includes("?") ? arrived.url.slice(arrived.url.indexOf("?")) : "";
  const request: WireRequest = {
    method: arrived.method ?? "POST",
    target: entry.path + query,
    headers: arrived.headers,
    body: Buffer.from(arrived.bodyBase64, "base64"),
    now: arrived.now === undefined ? Date.now() : arrived.now * 1_000,
  };
  return { arrived, entry, request, unsigned: isUnsignedHandshake(entry, arrived) };
}

function trimmed(headers: SignatureCase["headers"]): SignatureCase["headers"] {
  const trim = (value: string) => value.replace(/^[ \t]+|[ \t]+$/g, "");
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? trim(value) : value.map(trim)]),
  );
}

function isSendable({ headers, url = "" }: SignatureCase): boolean {
  const values = Object.values(headers).flat();
  return values.every((value) => !/[^\t\x20-\x7e\u0080-\uffff]/.test(value)) && !/[^\x21-\x7e]/.test(url);
}

function entryOf(testCase: SignatureCase, own: string): RouteEntry | undefined {
  const { provider, scheme, secret, secretEncoding, extra, now, toleranceSec } = testCase;
  const url = testCase.url?.split("?")[0] ?? "";
  const made = [provider, scheme, secret, secretEncoding, extra, now === undefined, toleranceSec, url, own];
  const key = JSON.stringify(made);
  if (!entries.has(key)) entries.set(key, compiled(testCase, url, entries.size));
  return entries.get(key);
}

function compiled(testCase: SignatureCase, url: string, number: number): RouteEntry | undefined {
  const bound = bindCase(testCase);
  if ("unsupported" in bound || bound.config.type !== "provider") return undefined;
  const { parameters, keys, toleranceMs } = bound;
  const { provider } = bound.config;
  const secrets = keys.map(({ secret, keyId }) => ({
    value: secret.reveal(),
    use: "Signing" as const,
    ...(keyId !== undefined && { keyId }),
  }));
  // A Secret made by an editor ends with a line end, which is no part of the key.
  if (secrets.some(({ value }) => /[\r\n]$/.test(value.toString("latin1")))) return undefined;
  const host = `route-${number}.example.com`;
  const path = pathOf(url);
  const settings = { provider, host, path, parameters, toleranceMs, name: `route-${number}` };
  try {
    return compileCaseRoute(
      {
        ...settings,
        publicUrl: url === "" ? `https://${host}${path}` : url,
        secrets: [...secrets, ...credentials(provider)],
      },
      Date.now(),
    );
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/** The path of the URL where a route may have it: a proxy in front may have another. */
function pathOf(url: string): string {
  const path = /^https?:\/\/[^/]*(\/.*)$/i.exec(url)?.[1] ?? "";
  return /^\/[A-Za-z0-9._~!$&()*+,;=:@/-]*$/.test(path) && !/\/\/|\/\.{1,2}(\/|$)/.test(path) ? path : "/hook";
}

function credentials(provider: string) {
  const { others = [] } = presetOf(provider).secrets;
  const value = Buffer.from("credential");
  return others.includes("ApiCredential") ? [{ value, use: "ApiCredential" as const }] : [];
}

function isUnsignedHandshake({ verification }: RouteEntry, testCase: SignatureCase): boolean {
  if (verification.type !== "provider") return false;
  const handshake = findHandshake(presetOf(verification.provider).handshakes, requestOf(testCase));
  return handshake !== undefined && !handshake.signed;
}
