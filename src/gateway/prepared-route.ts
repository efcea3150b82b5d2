import type { NewEvent, RoutePolicy } from "../custody/port.ts";
import { keptBytes } from "../lib/kept-bytes.ts";
import { Secret } from "../lib/secret.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { wantsEventType } from "../routes/event-types.ts";
import { SLOW_SHARE } from "../routes/observations.ts";
import type { KeyUse, VerificationKey, Verifier } from "../verification/types.ts";
import { handshakeMethods } from "../verification/handshakes/find.ts";
import type { Handshake } from "../verification/handshakes/handshake.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { createVerifier, presetOf } from "../verification/verifier.ts";
import { addressSet, type AddressSet } from "../lib/address-set.ts";
import { type ChosenRules, compileChosen } from "./chosen-destination.ts";
import { type CleanupRules, compileCleanup } from "./cleanup-push.ts";
import { compileDedupe, type DedupeRules } from "./dedupe-mark.ts";
import { compileKeptHeaders, type HeaderRules, keepsProviderId, keepsSignature } from "./kept-headers.ts";
import type { ObservationWindow } from "./observation-window.ts";
import { compilePayload, type PayloadRules } from "./payload.ts";
import { routeMeters, type RouteMeters } from "./route-meters.ts";

type Copies = NewEvent["destinations"];

/** A published entry with everything resolved that does not depend on a request. */
export interface PreparedRoute {
  readonly entry: RouteEntry;
  readonly verifier: Verifier;
  /** With use `Signing`. */
  readonly keys: readonly VerificationKey[];
  /** With use `VerifyToken`. */
  readonly verifyTokens: readonly VerificationKey[];
  /** With use `ApiCredential`. */
  readonly credentials: readonly VerificationKey[];
  readonly handshakes: readonly Handshake[];
  readonly policy: RoutePolicy;
  /** The policy of an event whose mark is weak. */
  readonly weakPolicy: RoutePolicy;
  readonly payload: PayloadRules;
  readonly dedupe: DedupeRules;
  readonly headers: HeaderRules;
  /** The canonical signature is kept with the event. */
  readonly keepsSignature: boolean;
  /** The delivery's id is kept with the event. */
  readonly keepsProviderId: boolean;
  /** Methods of events. */
  readonly methods: ReadonlySet<string>;
  /** … and of handshakes. */
  readonly admitted: ReadonlySet<string>;
  readonly suspended: boolean;
  /** `undefined`: every address. */
  readonly sources: AddressSet | undefined;
  /** Statuses in which the preset differs. */
  readonly statusOverrides: Readonly<Partial<Record<string, number>>>;
  /** The answer to an event that its provider demands. */
  readonly ack: Preset["ack"] | undefined;
  /** An answer that took longer is slow, ms. */
  readonly slowMs: number;
  readonly window: ObservationWindow;
  readonly meters: RouteMeters;
  /** Its events ask for cleanup runs. */
  readonly cleanup: CleanupRules | undefined;
  /** Each event names the WebhookDestination it is for. */
  readonly chosen: ChosenRules | undefined;
  /** @param destination the one that the event names, where it is {@link chosen} by the event */
  copies(eventType: string | undefined, destination?: string): Copies;
}

/**
 * Prepares a route once per published entry.
 *
 * @throws VerificationConfigError, RangeError when the entry holds what its schema should have refused
 */
export function prepareRoute(entry: RouteEntry, metrics: Metrics, window: ObservationWindow): PreparedRoute {
  const { ackBudgetMs, showHeaders, ...facts } = providerFacts(entry);
  const verifier = createVerifier(entry.verification, verifierOptions(entry));
  const headers = compileKeptHeaders(entry, showHeaders, verifier.secretHeaders);
  return {
    ...facts,
    ...policiesOf(entry),
    entry,
    verifier,
    keys: keysFor(entry, "Signing"),
    verifyTokens: keysFor(entry, "VerifyToken"),
    credentials: keysFor(entry, "ApiCredential"),
    payload: compilePayload(entry.payload),
    dedupe: compileDedupe(entry, verifier.signedIdHeader),
    headers,
    keepsSignature: keepsSignature(entry),
    keepsProviderId: keepsProviderId(entry, headers),
    methods: new Set(entry.methods),
    admitted: new Set([...entry.methods, ...handshakeMethods(facts.handshakes)]),
    suspended: entry.suspend === "Ingest" || entry.suspend === "All",
    sources: entry.allowedSourceRanges.length > 0 ? addressSet(entry.allowedSourceRanges) : undefined,
    slowMs: (ackBudgetMs ?? Infinity) * SLOW_SHARE,
    window,
    meters: routeMeters(metrics, entry, ackBudgetMs),
    cleanup: compileCleanup(entry),
    chosen: compileChosen(entry.destinationIdFrom),
    copies: copiesOf(entry),
  };
}

/** What the preset says, if the route has one. */
function providerFacts({ verification }: RouteEntry) {
  const preset = verification.type === "provider" ? presetOf(verification.provider) : undefined;
  const { statusOverrides = {}, handshakes = [], showHeaders = [], ack, ackBudgetMs } = preset ?? {};
  return { statusOverrides, handshakes, showHeaders, ack, ackBudgetMs };
}

function policiesOf({ route, dedupe, retention }: RouteEntry): Pick<PreparedRoute, "policy" | "weakPolicy"> {
  const { windowMs, earlierWindows, weakWindowMs, sources } = dedupe;
  const policy: RoutePolicy = { route, windowMs, earlierWindows, retention };
  // Without sources the weak window is the one that counts, and the earlier windows are its.
  return {
    policy,
    weakPolicy: { ...policy, windowMs: weakWindowMs, earlierWindows: sources.length === 0 ? earlierWindows : [] },
  };
}

function keysFor({ keys }: RouteEntry, wanted: KeyUse): readonly VerificationKey[] {
  return keys.flatMap(({ value, use, ...key }) =>
    use === wanted ? [{ ...key, secret: new Secret(keptBytes(value, "base64")) }] : [],
  );
}

function verifierOptions({ toleranceMs, parameters, dedupe }: RouteEntry) {
  const idHeader = dedupe.sources.find((source) => source.from === "header")?.name;
  return { toleranceMs, parameters, ...(idHeader !== undefined && { idHeader }) };
}

/**
 * One copy for each destination whose filter matches; the usual case, no filters at all, is one array made in advance. Where the event names its destination,
 * one for that.
 */
function copiesOf({
  destinations,
  sharedCopies = [],
  destinationIdFrom,
  delivery,
}: RouteEntry): PreparedRoute["copies"] {
  if (destinationIdFrom !== undefined) {
    const limit = delivery?.concurrency ?? 1;
    return (_, destination) => (destination === undefined ? [] : [{ destination, limit }]);
  }
  const targets = [...destinations.map(({ concurrency, ...one }) => ({ ...one, limit: concurrency })), ...sharedCopies];
  const all = targets.map(({ id, limit }) => ({ destination: id, limit }));
  if (targets.every(({ eventTypes }) => eventTypes.length === 0)) return () => all;
  return (eventType) => all.filter((_, index) => wantsEventType(targets[index]?.eventTypes ?? [], eventType));
}
