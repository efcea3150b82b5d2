import { createHmac } from "node:crypto";
import type { WebhookDestination } from "../../api/generated/webhook-destination.ts";
import { API_VERSION } from "../../api/names.ts";
import { type DestinationValidation, validateDestination } from "../../api/destination-validation.ts";
import type { Problem } from "../../api/problem.ts";
import type { SecretObject } from "../../api/secret.ts";
import type { Live } from "../../kube/objects.ts";
import { compileDestination } from "../../routes/compile-destination.ts";
import type { DestinationPublication } from "../../routes/destination-publication.ts";
import type { DestinationEntry, RingKey } from "../../routes/entry.ts";
import { readAccessToken } from "../../routes/access-token.ts";
import type { Unresolved } from "../../routes/observed-keys.ts";
import type { KeyRef } from "./destination-index.ts";
import { type DestinationObject, idOf } from "./destination-types.ts";

export interface DestinationInput {
  readonly destination: Live<DestinationObject>;
  /** Secrets of its namespace, by name. */
  readonly secrets: ReadonlyMap<string, SecretObject>;
  /** The ring of a key as kept last. */
  readonly ringOf: (ref: KeyRef) => readonly RingKey[];
  /** How long a previous value of a key stays good, ms: the longest that anybody who has it wants. */
  readonly overlapOf: (ref: KeyRef) => number;
  readonly releaseKey: Buffer;
  /** Unix ms. */
  readonly now: number;
}

/** A ring as it is to be kept. */
export interface KeptRing {
  readonly ref: KeyRef;
  readonly keys: readonly RingKey[];
}

/** What a WebhookDestination comes to. */
export type DestinationPlan =
  | {
      readonly ok: true;
      /** With keys and secret headers, for workers; without `seq`. */
      readonly entry: DestinationEntry;
      /** Without `seq`. */
      readonly publication: Omit<DestinationPublication, "seq">;
      /** References without a value. Nothing is sent while those of the entry have none. */
      readonly unresolved: readonly Unresolved[];
      /** Of the key that it signs with. */
      readonly ring?: KeptRing;
      /** Unix ms at which it must be looked at again. */
      readonly nextChangeAt?: number;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Where a missing token is told. Copies are sent without it. */
export const ACCESS_PATH = "spec.access.tokenSecretRef";

/** By spec, which never changes: a destination is looked at far more often than it is edited. */
const validations = new WeakMap<object, DestinationValidation>();

/** As {@link validateDestination}, once for each spec. */
export function validationOf(destination: Live<DestinationObject>): DestinationValidation {
  const known = validations.get(destination.spec);
  if (known !== undefined) return known;
  const validation = validateDestination(manifestOf(destination));
  validations.set(destination.spec, validation);
  return validation;
}

/** A destination as it must be written in a manifest: the status is not the user's. */
function manifestOf({ metadata, spec }: Live<DestinationObject>): WebhookDestination {
  const { name, namespace } = metadata;
  return {
    apiVersion: API_VERSION,
    kind: "WebhookDestination",
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec,
  };
}

function labelled(destination: Live<DestinationObject>): WebhookDestination {
  const manifest = manifestOf(destination);
  return { ...manifest, metadata: { ...manifest.metadata, labels: destination.metadata.labels ?? {} } };
}

/** Compiles a WebhookDestination with its Secrets: what is published, and what workers get. Pure. */
export function planDestination(input: DestinationInput): DestinationPlan {
  const { destination, secrets, now, releaseKey } = input;
  const { namespace = "" } = destination.metadata;
  const validation = validationOf(destination);
  const signing = destination.spec.signing?.secretRef;
  const compiled = compileDestination({
    destination: labelled(destination),
    validation,
    namespace,
    secrets,
    now,
    releaseKey,
    ...(signing && { signingKeys: input.ringOf(signing), signingOverlapMs: input.overlapOf(signing) }),
  });
  if (!compiled.ok) return compiled;
  const { seq: _, ...entry } = compiled.entry;
  const { nextChangeAt } = compiled.rotation;
  const access = accessOf(input);
  return {
    ok: true,
    entry,
    publication: publicationOf(input, entry, access),
    unresolved: [...compiled.unresolved, ...access.unresolved],
    ...(signing && { ring: { ref: signing, keys: entry.signing?.keys ?? [] } }),
    ...(nextChangeAt !== undefined && { nextChangeAt }),
  };
}

function publicationOf(
  { destination, releaseKey }: DestinationInput,
  entry: DestinationEntry,
  { hashes }: Access,
): Omit<DestinationPublication, "seq"> {
  const { metadata, spec } = destination;
  const { namespace = "", name, uid } = metadata;
  // Labels say who may choose it, not what it is.
  const { labels: _, ...told } = entry;
  return {
    schema: 1,
    minReader: 1,
    namespace,
    name,
    uid,
    id: idOf(destination),
    destination: entry.id,
    digest: createHmac("sha256", releaseKey).update(JSON.stringify(told)).digest("hex"),
    ...(entry.suspended && { suspended: true }),
    ...(spec.concurrency !== undefined && { limit: spec.concurrency }),
    tokenHashes: hashes,
  };
}

/** Whether there is nothing to publish. */
export function saysTheSame(published: DestinationPublication, next: Omit<DestinationPublication, "seq">): boolean {
  return JSON.stringify(fieldsOf(published)) === JSON.stringify(fieldsOf(next));
}

function fieldsOf(publication: Omit<DestinationPublication, "seq">): readonly unknown[] {
  const { namespace, name, uid, id, destination, digest, suspended = false, limit, tokenHashes } = publication;
  return [namespace, name, uid, id, destination, digest, suspended, limit ?? null, tokenHashes];
}

/**
 * What workers are told of a destination that cannot be compiled (any more): that it is there, and that nothing is sent to it. Without it they would give its
 * copies up.
 */
export function heldEntry({
  destination,
  name,
  seq,
}: Pick<DestinationPublication, "destination" | "name" | "seq">): DestinationEntry {
  return {
    id: destination,
    name,
    kind: "shared",
    seq,
    target: { type: "handler" },
    eventTypes: [],
    timeoutMs: 15_000,
    concurrency: 1,
    retry: {
      type: "schedule",
      giveUpAfterMs: 0,
      maxRetryAfterMs: 0,
      maxAgeMs: Number.MAX_SAFE_INTEGER,
      delaysMs: [],
      jitter: 0,
    },
    headers: {},
    forwardHeaders: [],
    suspended: true,
    incomplete: ["spec"],
  };
}

interface Access {
  readonly hashes: readonly string[];
  readonly unresolved: readonly Unresolved[];
}

/** The token that opens the listener of destinations: the present one, as one that leaked must end with the Secret. */
function accessOf({ destination, secrets }: DestinationInput): Access {
  const ref = destination.spec.access?.tokenSecretRef;
  if (ref === undefined) return { hashes: [], unresolved: [] };
  const found = readAccessToken(ref, secrets, ACCESS_PATH);
  return "hash" in found ? { hashes: [found.hash], unresolved: [] } : { hashes: [], unresolved: [found] };
}
