import type { PresetScheme } from "../config.ts";
import type { Handshake } from "../handshakes/handshake.ts";
import type { RefusalReason } from "../types.ts";

/**
 * A part of a delivery's identity. `signed`: covered by the signature. `optional`: left out when the request lacks it; one part at least must be there.
 * Structurally the `DedupeSource` of a route's entry.
 */
export type DedupeSource = { readonly signed: boolean; readonly optional?: boolean } & (
  | { readonly from: "header"; readonly name: string }
  /** JSON pointer. A list on the way must hold exactly one element: several events have no id in common. */
  | { readonly from: "json"; readonly pointer: string }
  /** Field of a form (`application/x-www-form-urlencoded`), sent exactly once. */
  | { readonly from: "form"; readonly name: string }
);

/**
 * What identifies a delivery without an id. `Signature`: equal signature and body within a short window. `Body`: equal bodies, where the provider signs each
 * attempt anew. `None`: equal bodies are different events (Dropbox says only that something changed), so every request is a new one.
 */
export type WithoutId = "Signature" | "Body" | "None";

/** A setting of a preset in `spec.verification.parameters`. */
export interface PresetParameter {
  readonly name: string;
  readonly required: boolean;
  /** What it is and where the provider shows it: one line. */
  readonly description: string;
  /** Allowed values. Absent: any text that {@link pattern} takes. */
  readonly values?: readonly string[];
  readonly pattern?: RegExp;
}

/** What the Secret of a route holds for this provider, and what else it needs. */
export interface PresetSecrets {
  /** `shared`: a signing secret or token. `public-key`: the provider's public key. `none`: trust comes from elsewhere, `secretRefs` may be absent. */
  readonly signing: "shared" | "public-key" | "none";
  /** Other uses that `secretRefs` needs: compared in a handshake, or to log in at the provider. */
  readonly others?: readonly ("VerifyToken" | "ApiCredential")[];
  /** What to put into the Secret, and where the provider shows it: one line. */
  readonly description: string;
}

/** Everything Davit knows of a provider, as data. A new provider is one file of this type and one line in `index.ts`. */
export interface Preset {
  /** As written in `spec.verification.provider`. */
  readonly name: string;
  /** As people write it. */
  readonly title: string;
  readonly scheme: PresetScheme;
  readonly secrets: PresetSecrets;
  /** How far a signed timestamp may lie in the past or future, ms. 0: the provider signs none, or repeats deliveries with an old one, so it is not checked. */
  readonly toleranceMs: number;
  /** Parts of the event's id, together. Empty: it has none. */
  readonly dedupe: readonly DedupeSource[];
  /**
   * JSON pointers of what differs between attempts of one event (the time or signature of the attempt) in a body to which an id or the weak key is bound: left
   * out there. An empty pointer leaves all of it out, where the signature alone says which event it is. Absent: the bytes of the body count.
   */
  readonly bodyExcept?: readonly string[];
  /** The id is one of a thing and not of an event (a payment, a video), so that another body under it is another event: it is bound to the body though it is signed. */
  readonly idWithBody?: boolean;
  /** What counts when there is no id, or this delivery lacks it. */
  readonly withoutId: WithoutId;
  /** Longest time over which the provider may repeat a delivery, ms: the default dedupe window. */
  readonly retryWindowMs: number;
  /** The provider gives up waiting for an answer after this many ms. */
  readonly ackBudgetMs: number;
  /** The answer to an accepted event. `status` is the default of `spec.response.status`; a `body` is one that the provider demands. */
  readonly ack: { readonly status: number; readonly contentType?: string; readonly body?: string };
  /** Defaults of `spec.payload`. */
  readonly payload: {
    readonly format: "Any" | "JSON";
    readonly requiredFields: readonly string[];
    readonly eventTypeFrom?: string;
  };
  /** Where the provider demands another status than the usual one. */
  readonly statusOverrides: Readonly<Partial<Record<RefusalReason, number>>>;
  /** Requests that are no events. The first that recognises a request answers it. */
  readonly handshakes: readonly Handshake[];
  /** Headers that say something about a delivery and are no secret: kept with the event, shown in its log. Lower case. */
  readonly showHeaders: readonly string[];
  /** What `spec.verification.parameters` may hold. */
  readonly parameters: readonly PresetParameter[];
  /** For `docs/providers.md`: one line each, in our own words. */
  readonly behaviour: {
    /** How often and how long it repeats a delivery, and whether it signs anew. */
    readonly retries: string;
    /** Answers that make it stop, disable or delete the subscription. */
    readonly danger?: string;
    /** Anything else an operator should know, for example what is not signed. */
    readonly note?: string;
  };
  /** A body as this provider sends it, with `$id` where the id of the event stands, and further headers: for `davit send`. */
  readonly sample: { readonly body: string; readonly headers?: Readonly<Record<string, string>> };
  /** The provider's own document. */
  readonly documentation: string;
}
