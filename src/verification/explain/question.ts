import type { VerifierConfig } from "../config.ts";
import type { Material } from "../material.ts";
import type { Verdict, VerificationKey } from "../types.ts";
import type { DedupeOf } from "./dedupe.ts";
import type { Finding } from "./finding.ts";
import type { Probe } from "./probe.ts";
import type { SchemeForm } from "./scheme-form.ts";
import type { Candidate, PlainRequest } from "./variants.ts";

/** What is to be explained. */
export interface Question {
  readonly config: VerifierConfig;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Header that `{id}` stands for where the scheme does not say, as a gateway takes it from `dedupe.keyFrom`. */
  readonly idHeader?: string;
  /** With the URL that the sender is thought to have signed. */
  readonly request: PlainRequest;
  /** The keys that count, as a gateway would have them. */
  readonly keys: readonly VerificationKey[];
  /** Keys that do not count but may explain a signature: an old secret, one that is not in use yet. */
  readonly otherKeys?: readonly VerificationKey[];
  /** Certificates or public keys that lie at the provider; `id` is the key id, or empty. */
  readonly material?: readonly Material[];
  /** Unix ms. */
  readonly now: number;
  /** Default: the preset's, else 300 s. */
  readonly toleranceMs?: number;
  /** Where the event's id stands. Default: the preset's. */
  readonly dedupe?: DedupeOf;
}

/** What was found. */
export interface Explanation {
  readonly verdict: Verdict;
  /** At least one, the most likely cause first. Of a valid request: that it is, by which key, and its id. */
  readonly findings: readonly Finding[];
}

/** What every step may look at. */
export interface Case {
  readonly question: Question;
  readonly candidate: Candidate;
  readonly probe: Probe;
  readonly form: SchemeForm;
  readonly toleranceMs: number;
  readonly refused: Extract<Verdict, { ok: false }>;
}
