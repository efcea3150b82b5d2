import type { NewEvent, RoutePolicy } from "../custody/port.ts";
import { keptBytes } from "../lib/kept-bytes.ts";
import { Secret } from "../lib/secret.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { VerificationKey, Verifier } from "../verification/types.ts";
import { createVerifier, presetOf } from "../verification/verifier.ts";
import { addressSet, type AddressSet } from "../lib/address-set.ts";
import { compileDedupe, type DedupeRules } from "./dedupe-mark.ts";
import { compileKeptHeaders, type HeaderRules, keepsSignature } from "./kept-headers.ts";
import { compilePayload, matchesType, type PayloadRules } from "./payload.ts";
import { routeMeters, type RouteMeters } from "./route-meters.ts";

type Copies = NewEvent["destinations"];

/** A published entry with everything resolved that does not depend on a request. */
export interface PreparedRoute {
  readonly entry: RouteEntry;
  readonly verifier: Verifier;
  readonly keys: readonly VerificationKey[];
  readonly policy: RoutePolicy;
  /** The policy of an event whose mark is weak. */
  readonly weakPolicy: RoutePolicy;
  readonly payload: PayloadRules;
  readonly dedupe: DedupeRules;
  readonly headers: HeaderRules;
  /** The canonical signature is kept with the event. */
  readonly keepsSignature: boolean;
  readonly methods: ReadonlySet<string>;
  /** Value of `Allow`. */
  readonly allow: string;
  readonly suspended: boolean;
  /** `undefined`: every address. */
  readonly sources: AddressSet | undefined;
  /** Statuses in which the preset differs. */
  readonly statusOverrides: Readonly<Partial<Record<string, number>>>;
  readonly meters: RouteMeters;
  copies(eventType: string | undefined): Copies;
}

/**
 * Prepares a route once per published entry.
 *
 * @throws VerificationConfigError, RangeError when the entry holds what its schema should have refused
 */
export function prepareRoute(entry: RouteEntry, metrics: Metrics): PreparedRoute {
  const { verification, dedupe, retention } = entry;
  const preset = verification.type === "provider" ? presetOf(verification.provider) : undefined;
  const verifier = createVerifier(verification, verifierOptions(entry));
  const policy: RoutePolicy = {
    route: entry.route,
    windowMs: dedupe.windowMs,
    earlierWindows: dedupe.earlierWindows,
    retention,
  };
  return {
    entry,
    verifier,
    keys: entry.keys.flatMap(({ value, use, ...key }) =>
      use === "Signing" ? [{ ...key, secret: new Secret(keptBytes(value, "base64")) }] : [],
    ),
    policy,
    // Without sources the weak window is the one that counts, and the earlier windows are its.
    weakPolicy: {
      ...policy,
      windowMs: dedupe.weakWindowMs,
      earlierWindows: dedupe.sources.length === 0 ? dedupe.earlierWindows : [],
    },
    payload: compilePayload(entry.payload),
    dedupe: compileDedupe(entry, verifier.signedIdHeader),
    headers: compileKeptHeaders(entry, preset?.showHeaders ?? [], verifier.secretHeaders),
    keepsSignature: keepsSignature(entry),
    methods: new Set(entry.methods),
    allow: entry.methods.join(", "),
    suspended: entry.suspend === "Ingest" || entry.suspend === "All",
    sources: entry.allowedSourceRanges.length > 0 ? addressSet(entry.allowedSourceRanges) : undefined,
    statusOverrides: preset?.statusOverrides ?? {},
    meters: routeMeters(metrics, entry.namespace, entry.name),
    copies: copiesOf(entry),
  };
}

function verifierOptions({ toleranceMs, parameters, dedupe }: RouteEntry) {
  const idHeader = dedupe.sources.find((source) => source.from === "header")?.name;
  return { toleranceMs, parameters, ...(idHeader !== undefined && { idHeader }) };
}

/** One copy for each destination whose filter matches; the usual case, no filters at all, is one array made in advance. */
function copiesOf({ destinations }: RouteEntry): (eventType: string | undefined) => Copies {
  const all = destinations.map(({ id, concurrency }) => ({ destination: id, limit: concurrency }));
  if (destinations.every(({ eventTypes }) => eventTypes.length === 0)) return () => all;
  return (eventType) => all.filter((_, index) => matchesType(destinations[index]?.eventTypes ?? [], eventType));
}
