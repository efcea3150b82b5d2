import { createHash, createHmac } from "node:crypto";
import type { WebhookDestination } from "../../api/generated/webhook-destination.ts";
import { API_VERSION } from "../../api/names.ts";
import { type DestinationValidation, validateDestination } from "../../api/destination-validation.ts";
import type { Problem } from "../../api/problem.ts";
import type { SecretObject } from "../../api/secret.ts";
import type { Live } from "../../kube/objects.ts";
import { compileDestination } from "../../routes/compile-destination.ts";
import type { DestinationPublication } from "../../routes/destination-publication.ts";
import type { DestinationEntry, RingKey } from "../../routes/entry.ts";
import { advanceRing, type RingChange } from "../../routes/key-ring.ts";
import { observeSigningKey, type Unresolved } from "../../routes/observed-keys.ts";
import { type DestinationObject, idOf } from "./destination-types.ts";

/** A key of a Secret. */
export interface KeyRef {
  readonly name: string;
  readonly key: string;
}

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
      readonly rings: readonly KeptRing[];
      /** Unix ms at which it must be looked at again. */
      readonly nextChangeAt?: number;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

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

/** Compiles a WebhookDestination with its Secrets: what is published, and what workers get. Pure. */
export function planDestination(input: DestinationInput): DestinationPlan {
  const { destination, secrets, now, releaseKey } = input;
  const { namespace = "" } = destination.metadata;
  const validation = validationOf(destination);
  const signing = destination.spec.signing?.secretRef;
  const compiled = compileDestination({
    destination: manifestOf(destination),
    validation,
    namespace,
    secrets,
    now,
    releaseKey,
    ...(signing && { signingKeys: input.ringOf(signing), signingOverlapMs: input.overlapOf(signing) }),
  });
  if (!compiled.ok) return compiled;
  const { seq: _, ...entry } = compiled.entry;
  const access = accessRing(input, validation);
  return {
    ok: true,
    entry,
    publication: publicationOf(input, entry, access),
    unresolved: [...compiled.unresolved, ...access.unresolved],
    rings: [...(signing ? [{ ref: signing, keys: entry.signing?.keys ?? [] }] : []), ...access.rings],
    ...soonest(compiled.rotation.nextChangeAt, access.change?.nextChangeAt),
  };
}

function publicationOf(
  { destination, releaseKey }: DestinationInput,
  entry: DestinationEntry,
  { hashes }: Access,
): Omit<DestinationPublication, "seq"> {
  const { metadata, spec } = destination;
  const { namespace = "", name, uid } = metadata;
  return {
    schema: 1,
    minReader: 1,
    namespace,
    name,
    uid,
    id: idOf(destination),
    destination: entry.id,
    digest: createHmac("sha256", releaseKey).update(JSON.stringify(entry)).digest("hex"),
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
  readonly rings: readonly KeptRing[];
  readonly change?: RingChange;
}

/** Tokens that are good now: a previous one for its overlap, and `<key>.next` ahead of its time. */
function accessRing(input: DestinationInput, { spec }: DestinationValidation): Access {
  const ref = spec?.access?.tokenSecretRef;
  if (ref === undefined) return { hashes: [], unresolved: [], rings: [] };
  const { keys, unresolved } = observeSigningKey(ref, input.secrets, "spec.access.tokenSecretRef");
  const { now, releaseKey } = input;
  const change = advanceRing(input.ringOf(ref), keys, { now, releaseKey, overlapMs: input.overlapOf(ref) });
  const hashes = change.keys.map(({ value }) =>
    createHash("sha256").update(Buffer.from(value, "base64")).digest("hex"),
  );
  return { hashes: hashes.toSorted(), unresolved, rings: [{ ref, keys: change.keys }], change };
}

function soonest(...times: readonly (number | undefined)[]): { readonly nextChangeAt?: number } {
  const known = times.flatMap((time) => time ?? []);
  return known.length === 0 ? {} : { nextChangeAt: Math.min(...known) };
}
