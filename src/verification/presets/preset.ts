import type { SchemeConfig } from "../config.ts";
import type { RefusalReason } from "../types.ts";

/** A part of a delivery's identity. `signed`: covered by the signature. Structurally the `DedupeSource` of a route's entry. */
export type DedupeSource =
  | { readonly from: "header"; readonly name: string; readonly signed: boolean }
  | { readonly from: "json"; readonly pointer: string; readonly signed: boolean };

/** Everything Davit knows of a provider, as data. A new provider is one file of this type and one line in `index.ts`. */
export interface Preset {
  /** As written in `spec.verification.provider`. */
  readonly name: string;
  /** As people write it. */
  readonly title: string;
  readonly scheme: SchemeConfig;
  readonly toleranceMs: number;
  /** Parts of the delivery's id, together. Empty: the weak key over signature and body. */
  readonly dedupe: readonly DedupeSource[];
  /** Longest time over which the provider may repeat a delivery, ms: the default dedupe window. */
  readonly retryWindowMs: number;
  /** The provider gives up waiting for an answer after this many ms. */
  readonly ackBudgetMs: number;
  /** Default of `spec.response.status`. */
  readonly responseStatus: number;
  /** Defaults of `spec.payload`. */
  readonly payload: {
    readonly format: "Any" | "JSON";
    readonly requiredFields: readonly string[];
    readonly eventTypeFrom?: string;
  };
  /** Where the provider demands another status than the usual one. */
  readonly statusOverrides: Readonly<Partial<Record<RefusalReason, number>>>;
  /** Headers that say something about a delivery and are no secret: kept with the event, shown in its log. Lower case. */
  readonly showHeaders: readonly string[];
  /** Names allowed in `spec.verification.parameters`. */
  readonly parameters: readonly string[];
  /** The provider's own document. */
  readonly documentation: string;
}
