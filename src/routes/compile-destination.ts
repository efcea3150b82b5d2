import { destinationId } from "../api/names.ts";
import { type DestinationValidation, validateDestination } from "../api/destination-validation.ts";
import type { ResolvedWebhookDestinationSpec } from "../api/destination-defaults.ts";
import type { WebhookDestination } from "../api/generated/webhook-destination.ts";
import { OTHERS_DELIVERY } from "../api/defaults.ts";
import type { Problem } from "../api/problem.ts";
import { parseDuration } from "../lib/duration.ts";
import { compileDelivery, compileRetry, compileSigner, compileTarget, type Surroundings } from "./compile-delivery.ts";
import type { DestinationEntry, DestinationTls, RingKey, RouteDelivery } from "./entry.ts";
import { advanceRing, type RingChange } from "./key-ring.ts";
import { observeSigningKey, readUsable, type Secrets, type Unresolved } from "./observed-keys.ts";

/** How long a previous signing key of a WebhookDestination stays in use, ms. */
export const SIGNING_OVERLAP_MS = 24 * 3_600_000;

export interface CompileDestinationInput extends Surroundings {
  readonly destination: WebhookDestination;
  /** Secrets of its namespace, by name. */
  readonly secrets: Secrets;
  /** The entry compiled last: holds the previous keys. */
  readonly published?: DestinationEntry;
  /** Ring of the signing key as kept last, where it is not kept in {@link published}. */
  readonly signingKeys?: readonly RingKey[];
  /** Overlap of that ring, ms, where others share it. */
  readonly signingOverlapMs?: number | undefined;
  /** Unix ms. */
  readonly now: number;
  readonly releaseKey: Buffer;
  /** What `validateDestination` says of it, for who has asked already. */
  readonly validation?: DestinationValidation;
}

export type CompileDestinationResult =
  | {
      readonly ok: true;
      /** Carries the published `seq`; whoever publishes it stamps its own if it differs. */
      readonly entry: DestinationEntry;
      readonly warnings: readonly Problem[];
      /** References without a value. Nothing is sent until they have one. */
      readonly unresolved: readonly Unresolved[];
      readonly rotation: Omit<RingChange, "keys">;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Compiles a WebhookDestination with its Secrets into what workers need. Pure. Fields it does not write are listed in `gaps` and hold the defaults, for events
 * of routes that are not known.
 */
export function compileDestination(input: CompileDestinationInput): CompileDestinationResult {
  const { spec, problems } = input.validation ?? validateDestination(input.destination);
  if (spec === undefined) return { ok: false, problems };
  const id = destinationId(spec.id);
  if (id === undefined) return { ok: false, problems: [unusableId()] };
  const signing = signingRing(input, spec);
  const secret = secretFields(spec, input.secrets);
  const unresolved = [...signing.unresolved, ...secret.unresolved];
  const entry = {
    ...identityOf(input, id),
    labels: input.destination.metadata.labels ?? {},
    ...compileDelivery({ ...OTHERS_DELIVERY, concurrency: spec.concurrency ?? 1 }, []),
    target: compileTarget(spec, input),
    eventTypes: [],
    ...writtenFields(spec, signing.ring?.keys ?? []),
    ...secret.fields,
    ...switches(spec),
  };
  const { keys: _, ...rotation } = signing.ring ?? { keys: [], tooManyChanges: false };
  return { ok: true, entry, warnings: problems, unresolved, rotation };
}

function identityOf({ destination, published }: CompileDestinationInput, id: string) {
  return { id, name: destination.metadata.name, kind: "shared" as const, seq: published?.seq ?? 0 };
}

/** What concerns the destination as a whole rather than an exchange with it. */
function switches(spec: ResolvedWebhookDestinationSpec): Partial<DestinationEntry> {
  const { consecutiveFailures, failingFor } = spec.disableAfter;
  return {
    ...(spec.allowInsecureHTTP && { allowInsecureHttp: true }),
    disableAfter: { consecutiveFailures, failingForMs: parseDuration(failingFor) },
    ...(spec.suspend && { suspended: true }),
    ...(spec.notify && { notify: spec.notify }),
    gaps: gapsOf(spec),
  };
}

/** Whether two entries say the same, their `seq` aside. */
export function sameDestination(a: DestinationEntry, b: DestinationEntry): boolean {
  return JSON.stringify({ ...a, seq: 0 }) === JSON.stringify({ ...b, seq: 0 });
}

function writtenFields(
  { timeout, retry, rateLimit, signing }: ResolvedWebhookDestinationSpec,
  keys: readonly RingKey[],
): Partial<DestinationEntry> {
  return {
    ...(timeout !== undefined && { timeoutMs: parseDuration(timeout) }),
    ...(retry && { retry: compileRetry(retry) }),
    ...(signing && { signing: compileSigner(signing, keys) }),
    ...(rateLimit && {
      rateLimit: { requests: rateLimit.requests, perMs: parseDuration(rateLimit.per), burst: rateLimit.burst },
    }),
  };
}

/** A WebhookDestination has no `headers`, `forwardHeaders` and `proxy` of its own. */
function gapsOf({ timeout, concurrency, retry, signing }: ResolvedWebhookDestinationSpec): (keyof RouteDelivery)[] {
  const written = { timeoutMs: timeout, concurrency, retry, signing };
  const open = (Object.keys(written) as (keyof typeof written)[]).filter((field) => written[field] === undefined);
  return [...open, "headers", "forwardHeaders", "proxy"];
}

function signingRing(
  input: CompileDestinationInput,
  { signing }: ResolvedWebhookDestinationSpec,
): { readonly ring?: RingChange; readonly unresolved: readonly Unresolved[] } {
  if (signing === undefined) return { unresolved: [] };
  const { secrets, published, signingKeys, now, releaseKey, signingOverlapMs } = input;
  const { keys, unresolved } = observeSigningKey(signing.secretRef, secrets, "spec.signing.secretRef");
  const before = signingKeys ?? published?.signing?.keys ?? [];
  const ring = advanceRing(before, keys, { now, releaseKey, overlapMs: signingOverlapMs ?? SIGNING_OVERLAP_MS });
  return { ring, unresolved };
}

/** Fields whose values are in Secrets, those of signing aside. */
function secretFields(spec: ResolvedWebhookDestinationSpec, secrets: Secrets) {
  const headers = readHeaders(spec, secrets);
  const tls = readTls(spec, secrets);
  const unresolved = [...headers.unresolved, ...tls.unresolved];
  const fields: Partial<DestinationEntry> = {
    ...(spec.headersFrom.length > 0 && { headersFrom: headers.values }),
    ...(spec.tls && { tls: tls.values }),
    ...(unresolved.length > 0 && { incomplete: [...new Set(unresolved.map(({ path }) => path))] }),
  };
  return { fields, unresolved };
}

function readHeaders({ headersFrom }: ResolvedWebhookDestinationSpec, secrets: Secrets) {
  const values: Record<string, string> = {};
  const unresolved: Unresolved[] = [];
  for (const [index, { name, secretRef }] of headersFrom.entries()) {
    const path = `spec.headersFrom[${index}].secretRef`;
    const found = readUsable(secretRef, secrets, path);
    if ("value" in found) values[name.toLowerCase()] = found.value.toString("latin1");
    else unresolved.push(found);
  }
  return { values, unresolved };
}

/** Certificates of the exchange. One that is missing makes the destination incomplete: it is not spoken to with the others alone. */
function readTls({ tls }: ResolvedWebhookDestinationSpec, secrets: Secrets) {
  const values: { -readonly [K in keyof DestinationTls]: DestinationTls[K] } = {};
  const unresolved: Unresolved[] = [];
  const read = (field: keyof DestinationTls, ref: { readonly name: string; readonly key: string }, path: string) => {
    const found = readUsable(ref, secrets, path);
    if ("value" in found) values[field] = found.value.toString("utf8");
    else unresolved.push(found);
  };
  if (tls?.caSecretRef) read("ca", tls.caSecretRef, "spec.tls.caSecretRef");
  const client = tls?.clientCertificateSecretRef;
  if (client) {
    read("certificate", { name: client.name, key: "tls.crt" }, "spec.tls.clientCertificateSecretRef");
    read("key", { name: client.name, key: "tls.key" }, "spec.tls.clientCertificateSecretRef");
  }
  return { values, unresolved };
}

function unusableId(): Problem {
  const message = "is no id that an event could name: it needs 1 to 128 characters of well-formed Unicode";
  return { path: "spec.id", message, source: "semantic", severity: "error" };
}
