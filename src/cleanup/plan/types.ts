import type { ObjectTag, VersionEntry } from "../store/port.ts";

/** All versions and delete markers of one key. */
export interface KeyGroup {
  readonly key: string;
  /** Oldest first: the reverse of their order in the listing. Empty of a group that is {@link tooLarge}. */
  readonly entries: readonly VersionEntry[];
  /** It has more entries than may be held; all of them stay. Their number. */
  readonly tooLarge?: number;
}

/** What decides by the listing alone which versions of a key may go. */
export interface ListingRules {
  /** Ends in a slash. */
  readonly prefix: string;
  /** Unix ms; expired is what was last modified before it, strictly; a time of whole seconds counts as any time within its second. */
  readonly cutoff: number;
  readonly protectedPrefixes: readonly string[];
  /** A manifest names the key. */
  readonly isReferenced: (key: string) => boolean;
}

/** Why an expired version stays. */
export type KeepReason =
  | "NullVersion"
  | "ProtectedPrefix"
  | "InManifest"
  | "LegalHold"
  | "Retention"
  | "ProtectedTag"
  /** An older version of the key stays: deleting this one would bring that one back. */
  | "ProtectedSibling"
  /** A delete marker, while anything else of its key stays. */
  | "DeleteMarkerNeeded"
  | "TooManyVersions";

export interface Kept {
  readonly entry: VersionEntry;
  readonly reason: KeepReason;
}

/** What the listing says of a key. */
export interface GroupPlan {
  readonly group: KeyGroup;
  /** Expired, whether they stay or not. */
  readonly expired: number;
  /** Oldest first. Each is asked for by HEAD before it goes. */
  readonly candidates: readonly VersionEntry[];
  readonly kept: readonly Kept[];
}

/** What the store said of a candidate just now. */
export type VersionFacts =
  | { readonly exists: false }
  | {
      readonly exists: true;
      readonly legalHold: boolean;
      /** Unix ms. Absent: no retention. */
      readonly retainUntil?: number;
      readonly tags: readonly ObjectTag[];
    };

/** What decides by those facts. */
export interface FactRules {
  /** Unix ms. */
  readonly now: number;
  readonly objectLock: boolean;
  readonly legalHold: boolean;
  /** Without `value`: any. */
  readonly tags: readonly { readonly key: string; readonly value?: string }[];
}

/** What is to become of a key. */
export interface GroupDecision {
  /** Oldest first: the plan's list. */
  readonly deletes: readonly VersionEntry[];
  /**
   * The same in parts: each is begun once all before it are known to be gone. Whatever the listing shows above a version, somebody may take away meanwhile, and
   * then it is what hides the older ones: so the newest that goes does so by itself, and delete markers do when no version is left.
   */
  readonly stages: readonly (readonly VersionEntry[])[];
  /** Candidates that are gone already. */
  readonly absent: readonly VersionEntry[];
  readonly kept: readonly Kept[];
}
