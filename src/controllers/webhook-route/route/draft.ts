import type { WebhookRoute } from "../../../api/generated/webhook-route.ts";
import type { SecretObject } from "../../../api/secret.ts";
import { CLAIM_HOLD_MS } from "../../../routes/claims.ts";
import type { KnownDestination } from "../../../routes/shared-copies.ts";
import { compile, type CompileResult, sameEntry } from "../../../routes/compile.ts";
import type { RingKey, RouteEntry } from "../../../routes/entry.ts";
import { revokePrevious } from "../../../routes/key-ring.ts";
import { isRevocationDue, withoutPreviousKeys, withRevocation } from "../../../routes/revocation.ts";
import { withSigningKeys } from "../../../routes/signing-keys.ts";
import { validationOf } from "./assessment.ts";
import { entryIn, type EntrySecret } from "../publishing/publications.ts";

export interface DraftInput {
  readonly route: WebhookRoute;
  readonly namespace: string;
  readonly namespaceUid: string;
  readonly secrets: ReadonlyMap<string, SecretObject>;
  /** WebhookDestinations of the namespace that have their id. */
  readonly destinations?: readonly KnownDestination[];
  /** Ring of the signing key as kept last. */
  readonly signingKeys: readonly RingKey[];
  /** Its overlap, of `signingOverlapMs`. */
  readonly signingOverlapMs?: number | undefined;
  /** Command to end every previous key; it is carried out once. */
  readonly revokeAt?: string | undefined;
  readonly releaseKey: Buffer;
  /** Unix ms. */
  readonly now: number;
}

/** What a route's entry should be. */
export type Drafted =
  | {
      readonly ok: true;
      /** With signing keys; carries the published `seq`. */
      readonly entry: RouteEntry;
      /** It says something else than what is published, or what is published is not found by its labels. */
      readonly differs: boolean;
      readonly compiled: Extract<CompileResult, { readonly ok: true }>;
    }
  | Extract<CompileResult, { readonly ok: false }>;

/** Compiles a route over what is published. Pure: called again whenever that turned out to be newer. */
export function draftEntry(input: DraftInput, published: EntrySecret | undefined): Drafted {
  const base = baseOf(published, input.namespaceUid);
  const { revokeAt, signingKeys } = input;
  const isDue = isRevocationDue(revokeAt, base);
  const compiled = compile({
    route: input.route,
    validation: validationOf(input.route),
    namespace: input.namespace,
    namespaceUid: input.namespaceUid,
    secrets: input.secrets,
    destinations: input.destinations ?? [],
    now: input.now,
    releaseKey: input.releaseKey,
    signingOverlapMs: input.signingOverlapMs,
    signingKeys: isDue ? revokePrevious(signingKeys) : signingKeys,
    ...(base === undefined ? {} : { published: isDue ? withoutPreviousKeys(base) : base }),
  });
  if (!compiled.ok) return compiled;
  const entry = withRevocation(compiled.entry, revokeAt, base);
  return {
    ok: true,
    entry,
    compiled,
    differs: base === undefined || published?.isUnmarked === true || !sameEntry(withSigningKeys(entry, []), base),
  };
}

/** Whether a route may send to WebhookDestinations. */
export function usesDestinations(
  spec: Pick<WebhookRoute["spec"], "destinations" | "destinationSelector"> | undefined,
): boolean {
  return (
    spec?.destinationSelector !== undefined ||
    (spec?.destinations ?? []).some(({ destinationRef }) => destinationRef !== undefined)
  );
}

/** The entry as published for this very namespace: the keys of a namespace that was deleted belonged to somebody else. */
export function baseOf(published: EntrySecret | undefined, namespaceUid: string): RouteEntry | undefined {
  return published?.namespaceUid === namespaceUid ? entryIn(published) : undefined;
}

/** When a released place is free for everybody, Unix ms. */
export function heldUntil(releasedAt: number, holdMs: number = CLAIM_HOLD_MS): number {
  return releasedAt + holdMs;
}
