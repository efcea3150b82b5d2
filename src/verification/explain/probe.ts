import type { VerifierConfig, VerifierOptions } from "../config.ts";
import type { Material } from "../material.ts";
import type { SignedRequest, Verdict, Verifier } from "../types.ts";
import { plainRequest } from "../vectors.ts";
import { createVerifier } from "../verifier.ts";
import type { Candidate, PlainRequest } from "./variants.ts";

/** Signatures that one explanation may compute. */
export const MAX_CHECKS = 2_000;
/** Bytes of bodies that one explanation may hash: a large body is tried in fewer ways. */
export const MAX_HASHED_BYTES = 512 * 1_024 * 1_024;
/** A tolerance in which every timestamp lies: whether a signature matches is one question, how old it is another. */
const ANY_TIME_MS = Number.MAX_SAFE_INTEGER;

export interface ProbeOptions extends VerifierOptions {
  readonly config: VerifierConfig;
  /** Unix ms. */
  readonly now: number;
  readonly material: readonly Material[];
}

/** Holds candidates against one scheme, whatever their age, and counts what that costs. */
export class Probe {
  readonly #verifier: Verifier;
  readonly #options: ProbeOptions;
  #checks = 0;
  #hashed = 0;
  #tries = 0;

  /** @throws VerificationConfigError when the settings make no verifier */
  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#verifier = createVerifier(options.config, { ...options, toleranceMs: ANY_TIME_MS });
  }

  get secretHeaders(): readonly string[] {
    return this.#verifier.secretHeaders;
  }

  /** Alternatives that were tried. */
  get tries(): number {
    return this.#tries;
  }

  /** The verdict; `undefined` once {@link MAX_CHECKS} or {@link MAX_HASHED_BYTES} are used up. */
  verdict(candidate: Candidate): Verdict | undefined {
    const checks = Math.max(1, candidate.keys.length);
    this.#checks += checks;
    this.#hashed += checks * candidate.request.body.length;
    if (this.#checks > MAX_CHECKS || this.#hashed > MAX_HASHED_BYTES) return undefined;
    this.#tries += 1;
    const request = toSigned(candidate.request);
    return judge(this.#verifier, request, candidate.keys, this.#options);
  }

  matches(candidate: Candidate): boolean {
    return this.verdict(candidate)?.ok === true;
  }
}

/**
 * Verifies with whatever public material was given: where a scheme says which it needs, what was given stands in for it, since nothing is fetched here. A
 * JWK that names itself must be the one that is wanted.
 */
export function judge(
  verifier: Verifier,
  request: SignedRequest,
  keys: Candidate["keys"],
  { now, material }: Pick<ProbeOptions, "now" | "material">,
): Verdict {
  const needed = verifier.needs?.(request);
  if (needed === undefined) return verifier.verify(request, keys, now);
  if ("ok" in needed) return needed;
  let verdict = verifier.verify(request, keys, now);
  for (const one of material.filter(({ id }) => needed.id.endsWith(id))) {
    verdict = verifier.verify(request, keys, now, { ...one, id: needed.id });
    if (verdict.ok) return verdict;
  }
  return verdict;
}

/** The request as a verifier takes it. */
export function toSigned({ headers, ...rest }: PlainRequest): SignedRequest {
  return plainRequest({ ...rest, headers });
}
