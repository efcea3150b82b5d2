import type { ResolvedDestination, ResolvedWebhookRouteSpec } from "../api/defaults.ts";
import type { WebhookRoute } from "../api/generated/webhook-route.ts";
import { inlineDestinationId, routeKey } from "../api/names.ts";
import type { Problem } from "../api/problem.ts";
import { type Validation, validateRoute } from "../api/validation.ts";
import { verifierConfig } from "../api/verifier-config.ts";
import { parseDuration } from "../lib/duration.ts";
import { presets as knownPresets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { compileDedupe } from "./compile-dedupe.ts";
import { compileDelivery, compileTarget, type Surroundings } from "./compile-delivery.ts";
import type { DestinationEntry, RingKey, RouteEntry } from "./entry.ts";
import { advanceRing, type RingChange } from "./key-ring.ts";
import { type DestinationsFinding, isClosed, type KnownDestination, resolveShared } from "./shared-copies.ts";
import { observeKeys, observeSigningKey, type Secrets, type Unresolved } from "./observed-keys.ts";
import { signingKeysOf } from "./signing-keys.ts";

export interface CompileInput extends Surroundings {
  readonly route: WebhookRoute;
  readonly namespaceUid: string;
  /** Secrets of the route's namespace, by name. */
  readonly secrets: Secrets;
  /** The entry published last: holds the previous keys and earlier dedupe windows. */
  readonly published?: RouteEntry;
  /** Ring of the outgoing signing key as kept last, where it is not kept in {@link published}. */
  readonly signingKeys?: readonly RingKey[];
  /** Overlap of that ring, ms, where others share it. Default: the route's own. */
  readonly signingOverlapMs?: number | undefined;
  /** Unix ms. */
  readonly now: number;
  readonly releaseKey: Buffer;
  /** WebhookDestinations of the route's namespace that have their id. Default: none. */
  readonly destinations?: readonly KnownDestination[];
  /** Known providers. Default: all of Davit's. */
  readonly presets?: ReadonlyMap<string, Preset>;
  /** What {@link validateRoute} says of the route, for who has asked already. */
  readonly validation?: Validation;
}

export type CompileResult =
  | {
      readonly ok: true;
      /** Carries the published `seq`; {@link stamp} gives it its own if it differs. */
      readonly entry: RouteEntry;
      readonly warnings: readonly Problem[];
      /** References without a key. Not empty: `SecretsResolved` is false. */
      readonly unresolved: readonly Unresolved[];
      readonly rotation: Omit<RingChange, "keys">;
      readonly destinations: DestinationsFinding;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Most bytes of an entry as JSON: a Secret of the API server and a gateway's memory must bear thousands of them. */
export const MAX_ENTRY_BYTES = 65_536;

/**
 * Compiles a route with its Secrets into what gateways and workers need. Pure: the controller and `davit dev` call the same function.
 * A missing key does not refuse the route: the gateway then answers 503, or accepts what is left of the overlap.
 */
export function compile(input: CompileInput): CompileResult {
  const { spec, problems } = input.validation ?? validate(input);
  if (spec === undefined) return { ok: false, problems };
  const inbound = observeKeys(spec.secretRefs, input.secrets, {
    basic: spec.verification.basic !== undefined,
    now: input.now,
  });
  const ring = advanceRing(input.published?.keys ?? [], inbound.keys, ringOptions(input, spec));
  const signing = compileSigning(input, spec);
  const { part, finding } = resolveShared(spec, input.destinations, input.published);
  const built = { ...buildEntry(input, spec, { ring, signing }), ...part };
  const entry = isClosed(finding) ? closed(built) : built;
  if (Buffer.byteLength(JSON.stringify(entry)) > MAX_ENTRY_BYTES) return { ok: false, problems: [tooLarge()] };
  return {
    ok: true,
    entry,
    warnings: problems,
    unresolved: [...inbound.unresolved, ...signing.unresolved],
    rotation: rotationOf(ring, signing),
    destinations: finding,
  };
}

function rotationOf(ring: RingChange, { change }: Signing): Omit<RingChange, "keys"> {
  return {
    ...(ring.overlapEndsAt === undefined ? {} : { overlapEndsAt: ring.overlapEndsAt }),
    ...soonest(ring.nextChangeAt, change?.nextChangeAt),
    tooManyChanges: ring.tooManyChanges || change?.tooManyChanges === true,
  };
}

function validate({ route, presets }: CompileInput): Validation {
  return validateRoute(route, presets === undefined ? {} : { presets });
}

/** Gives an entry its sequence number, which grows over re-installs and restores too: max(last + 1, now). */
export function stamp(entry: RouteEntry, lastSeq: number, now: number): RouteEntry {
  return { ...entry, seq: Math.max(lastSeq + 1, now) };
}

/** Whether two entries say the same, their `seq` aside: then there is nothing to publish. */
export function sameEntry(a: RouteEntry, b: RouteEntry): boolean {
  return JSON.stringify({ ...a, seq: 0 }) === JSON.stringify({ ...b, seq: 0 });
}

/** An entry whose route may not take events at present: its place, its keys and what is queued stay. */
export function closed(entry: RouteEntry): RouteEntry {
  return { ...entry, suspend: entry.suspend === "Delivery" || entry.suspend === "All" ? "All" : "Ingest" };
}

function buildEntry(
  input: CompileInput,
  spec: ResolvedWebhookRouteSpec,
  keys: { readonly ring: RingChange; readonly signing: Signing },
): RouteEntry {
  const { namespace, published, route } = input;
  const id = routeKey(input.namespaceUid, route.metadata.name);
  return {
    schema: 1,
    minReader: 1,
    seq: published?.seq ?? 0,
    instance: spec.instance,
    namespace,
    name: route.metadata.name,
    route: id,
    host: spec.exposure.host,
    path: spec.exposure.path,
    methods: spec.exposure.methods,
    suspend: spec.suspend,
    verification: verifierConfig(spec),
    publicUrl: spec.verification.publicUrl,
    toleranceMs: parseDuration(spec.verification.tolerance ?? "0s"),
    allowedSourceRanges: spec.verification.allowedSourceRanges ?? [],
    parameters: spec.verification.parameters ?? {},
    keys: keys.ring.keys,
    dedupe: compileDedupe(spec, presetOf(input, spec), published?.dedupe, input.now),
    limits: compileLimits(spec.limits),
    payload: spec.payload,
    response: spec.response,
    retention: {
      deliveredMs: parseDuration(spec.retention.delivered),
      deadLettersMs: parseDuration(spec.retention.deadLetters),
      maxEvents: spec.retention.maxEvents,
      keepBodies: spec.retention.keepBodies,
    },
    ...(spec.deletionPolicy === "Purge" && { deletionPolicy: spec.deletionPolicy }),
    worker: compileWorker(spec.worker?.dedicated),
    destinations: spec.destinations
      .filter(({ destinationRef }) => destinationRef === undefined)
      .map((destination) => compileInline(destination, id, input, keys.signing)),
    ...sharedDelivery(input, spec, keys.signing),
  };
}

function presetOf({ presets = knownPresets }: CompileInput, spec: ResolvedWebhookRouteSpec): Preset | undefined {
  return presets.get(spec.verification.provider ?? "");
}

function compileWorker(dedicated: NonNullable<ResolvedWebhookRouteSpec["worker"]>["dedicated"]): RouteEntry["worker"] {
  return { dedicated: dedicated !== undefined, concurrency: dedicated?.concurrency ?? 500 };
}

function compileLimits(limits: ResolvedWebhookRouteSpec["limits"]): RouteEntry["limits"] {
  const { rateLimit, ...rest } = limits;
  if (rateLimit === undefined) return rest;
  const { per, ...bucket } = rateLimit;
  return { ...rest, rateLimit: { ...bucket, perMs: parseDuration(per) } };
}

interface Signing {
  readonly change?: RingChange;
  readonly unresolved: readonly Unresolved[];
}

/** All destinations of a route sign with the same key, so there is one ring, kept in each of them. */
function compileSigning(input: CompileInput, spec: ResolvedWebhookRouteSpec): Signing {
  const ref = (spec.delivery ?? spec.destinations[0]?.delivery)?.signing?.secretRef;
  if (ref === undefined) return { unresolved: [] };
  const { keys, unresolved } = observeSigningKey(ref, input.secrets, "spec.delivery.signing.secretRef");
  const kept = input.published && signingKeysOf(input.published);
  const before = input.signingKeys ?? kept ?? [];
  const own = ringOptions(input, spec);
  const options = { ...own, overlapMs: input.signingOverlapMs ?? own.overlapMs };
  return { change: advanceRing(before, keys, options), unresolved };
}

function ringOptions({ now, releaseKey }: CompileInput, { rotation }: ResolvedWebhookRouteSpec) {
  return { now, releaseKey, overlapMs: parseDuration(rotation.overlap) };
}

function compileInline(
  destination: ResolvedDestination,
  route: string,
  input: CompileInput,
  signing: Signing,
): DestinationEntry {
  return {
    id: inlineDestinationId(route, destination.name),
    name: destination.name,
    target: compileTarget(destination, input),
    eventTypes: destination.eventTypes ?? [],
    ...deliveryOf(destination, signing.change?.keys ?? []),
  };
}

/** A run is made, and no request sent: of the route's `delivery` only the timeout, the concurrency and the retries concern it. */
function deliveryOf({ cleanup, delivery }: ResolvedDestination, keys: readonly RingKey[]) {
  if (cleanup === undefined) return compileDelivery(delivery, keys);
  const { timeout, concurrency, retry } = delivery;
  return compileDelivery({ timeout, concurrency, retry, headers: {}, forwardHeaders: [] }, []);
}

/** What WebhookDestinations leave open; `concurrency` only where it is written. */
function sharedDelivery(
  { route }: CompileInput,
  { delivery }: ResolvedWebhookRouteSpec,
  signing: Signing,
): Pick<RouteEntry, "delivery"> {
  if (delivery === undefined) return {};
  const { concurrency, ...rest } = compileDelivery(delivery, signing.change?.keys ?? []);
  return { delivery: route.spec.delivery?.concurrency === undefined ? rest : { ...rest, concurrency } };
}

function soonest(...times: readonly (number | undefined)[]): { readonly nextChangeAt?: number } {
  const known = times.flatMap((time) => time ?? []);
  return known.length === 0 ? {} : { nextChangeAt: Math.min(...known) };
}

function tooLarge(): Problem {
  return {
    path: "",
    message: `the compiled route is larger than ${MAX_ENTRY_BYTES} bytes`,
    remedy: "shorten headers, keys or the list of destinations, or split the route",
    source: "semantic",
    severity: "error",
  };
}
