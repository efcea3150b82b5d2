import type { VerifierOptions } from "../config.ts";
import type { Material } from "../material.ts";
import type { SignedParts, SignedRequest, Verdict, VerificationKey, Verifier } from "../types.ts";
import { keysOf, plainRequest } from "../vectors.ts";
import { createVerifier } from "../verifier.ts";

/** The clock of tests of presets, Unix ms. */
export const NOW = 1_718_000_000_000;

/** A request as a test says it; what is left out is a POST of nothing. */
export interface Sent {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

/** What a route has, as a test says it. Secrets as text are current keys. */
export interface Route {
  readonly keys?: readonly string[] | readonly VerificationKey[];
  readonly parameters?: VerifierOptions["parameters"];
  readonly toleranceMs?: number;
  /** Unix ms; {@link NOW} when absent. */
  readonly now?: number;
  readonly material?: Material;
}

/** The verifier of a preset. */
export function verifierOf(provider: string, { parameters, toleranceMs }: Route = {}): Verifier {
  const options = { ...(parameters && { parameters }), ...(toleranceMs !== undefined && { toleranceMs }) };
  return createVerifier({ type: "provider", provider }, options);
}

/** The request as a verifier sees it. */
export function requestOf({
  method = "POST",
  url = "https://hooks.example.com/hook",
  headers = {},
  body = "",
}: Sent): SignedRequest {
  const { pathname, search } = new URL(url);
  return plainRequest({ method, url, path: pathname + search, headers, body: Buffer.from(body) });
}

/** The verdict of a preset on a request. */
export function judge(provider: string, sent: Sent, route: Route = {}): Verdict {
  const verifier = verifierOf(provider, route);
  return verifier.verify(requestOf(sent), ringOf(route.keys), route.now ?? NOW, route.material);
}

/** `accepted`, or why the request is refused. */
export function outcome(provider: string, sent: Sent, route: Route = {}): string {
  const verdict = judge(provider, sent, route);
  return verdict.ok ? "accepted" : verdict.reason;
}

/** A request as the preset's sender would send it. */
export function signed(provider: string, sent: Sent & { readonly id?: string }, route: Route = {}): Required<Sent> {
  const { method, url, body } = requestOf(sent);
  const headers = (sent.headers ?? {}) as Readonly<Record<string, string>>;
  const input = { method, url, path: "/hook", body, id: sent.id ?? "sample-id", headers };
  const parts: SignedParts = verifierOf(provider, route).sign(input, ringOf(route.keys), route.now ?? NOW);
  return { method, url, headers: { ...headers, ...parts.headers }, body: parts.body ?? body };
}

function ringOf(keys: Route["keys"] = []): readonly VerificationKey[] {
  return keys.flatMap((key, index) =>
    typeof key === "string" ? keysOf([key]).map((one) => ({ ...one, id: `0000000${index}` })) : [key],
  );
}
