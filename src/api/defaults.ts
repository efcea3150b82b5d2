import { formatDuration, parseDuration } from "../lib/duration.ts";
import { DEFAULT_TOLERANCE_MS } from "../verification/config.ts";
import type { DedupeSource, Preset, WithoutId } from "../verification/presets/preset.ts";
import type {
  WebhookRouteDelivery,
  WebhookRouteDestination,
  WebhookRouteRetry,
  WebhookRouteSecretRef,
  WebhookRouteSpec,
  WebhookRouteVerification,
} from "./generated/webhook-route.ts";

type Spec = WebhookRouteSpec;
type Full<T> = Required<NonNullable<T>>;
type Hmac = NonNullable<WebhookRouteVerification["hmac"]>;

/** A few attempts within seconds, for services of one's own and for the SDK: dead on the 4th failure. */
export const OWN_SERVICE_SCHEDULE: readonly string[] = ["1s", "5s", "30s"];

/** Over two days, for endpoints of other people: 9 attempts within 51.6 h. */
export const FOREIGN_ENDPOINT_SCHEDULE: readonly string[] = ["5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h"];

/** Jitter of {@link FOREIGN_ENDPOINT_SCHEDULE}, relative. A written schedule has none. */
export const FOREIGN_ENDPOINT_JITTER = 0.1;

/** Window of the weak dedupe key, unless `dedupe.window` is written out. */
const WEAK_WINDOW = "10m";

/** For how long a sender of whom nothing is known may repeat a delivery, ms. */
const UNKNOWN_RETRY_MS = 7 * 86_400_000;

/** A retry policy with nothing left open: a schedule or a backoff. */
export type ResolvedRetry = {
  readonly giveUpAfter: string;
  readonly maxRetryAfter: string;
  readonly maxAge: string;
} & (
  | { readonly schedule: readonly string[] /** Relative, 0.1 = ± 10 %. */; readonly jitter: number }
  | { readonly backoff: Readonly<Full<WebhookRouteRetry["backoff"]>> }
);

/** A destination with its own share of `spec.delivery`, whose defaults depend on the target. */
export type ResolvedDestination = WebhookRouteDestination & {
  readonly delivery: {
    readonly timeout: string;
    readonly concurrency: number;
    readonly retry: ResolvedRetry;
    readonly headers: Readonly<Record<string, string>>;
    readonly forwardHeaders: readonly string[];
    readonly signing?: Full<WebhookRouteDelivery["signing"]>;
    readonly proxy?: string;
  };
};

/** A spec with every default filled in, in the words of the manifest. `spec.delivery` is found in each destination. */
export interface ResolvedWebhookRouteSpec {
  readonly instance: string;
  readonly exposure: Full<Spec["exposure"]>;
  readonly verification: Omit<WebhookRouteVerification, "hmac"> & {
    readonly hmac?: Hmac & Required<Pick<Hmac, "algorithm" | "encoding" | "prefix" | "signedContent">>;
    /** Absent: a signed time is not held against the clock. */
    readonly tolerance?: string;
    readonly publicUrl: string;
  };
  readonly secretRefs: readonly (WebhookRouteSecretRef & { readonly use: NonNullable<WebhookRouteSecretRef["use"]> })[];
  readonly rotation: Full<Spec["rotation"]>;
  readonly dedupe: Full<Spec["dedupe"]> & {
    /** How long deliveries without an id are compared. */
    readonly weakWindow: string;
    /** What counts without an id. `Refuse`: `keyFrom` was written out, and each of its parts must be there. */
    readonly withoutId: WithoutId | "Refuse";
  };
  readonly limits: Omit<Full<Spec["limits"]>, "rateLimit"> & {
    readonly rateLimit?: Full<NonNullable<Spec["limits"]>["rateLimit"]>;
  };
  readonly payload: {
    readonly format: "Any" | "JSON";
    readonly requiredFields: readonly string[];
    readonly eventTypeFrom?: string;
  };
  readonly response: Full<Spec["response"]>;
  readonly destinations: readonly ResolvedDestination[];
  readonly destinationSelector?: NonNullable<Spec["destinationSelector"]>;
  /** What WebhookDestinations leave open. Absent: the route has none. */
  readonly delivery?: ResolvedDestination["delivery"];
  readonly worker: Spec["worker"];
  readonly retention: Full<Spec["retention"]>;
  readonly deletionPolicy: NonNullable<Spec["deletionPolicy"]>;
  readonly suspend: NonNullable<Spec["suspend"]>;
}

/**
 * Fills in every default. Never written back to the spec, so that GitOps sees no drift; released defaults never change.
 *
 * @param preset the one `verification.provider` names; `undefined` for other schemes, and for a provider nobody knows
 */
export function resolveSpec(spec: Spec, preset: Preset | undefined): ResolvedWebhookRouteSpec {
  return {
    ...resolveScalars(spec),
    exposure: { methods: ["POST"], ...spec.exposure },
    verification: resolveVerification(spec, preset),
    secretRefs: (spec.secretRefs ?? []).map((ref) => ({ use: "Signing", ...ref })),
    rotation: { overlap: "24h", ...spec.rotation },
    dedupe: resolveDedupe(spec, preset),
    limits: resolveLimits(spec.limits),
    payload: resolvePayload(spec, preset),
    response: { status: preset?.ack.status ?? 202, ...spec.response },
    destinations: (spec.destinations ?? []).map((destination) => resolveDestination(destination, spec.delivery ?? {})),
    ...(spec.destinationSelector === undefined ? {} : { destinationSelector: spec.destinationSelector }),
    ...(hasShared(spec) && { delivery: resolveDelivery(spec.delivery ?? {}, false) }),
    worker: resolveWorker(spec.worker),
    retention: { delivered: "72h", deadLetters: "720h", maxEvents: 10_000, keepBodies: false, ...spec.retention },
  };
}

function resolveScalars({
  instance = "default",
  deletionPolicy = "Retain",
  suspend = "None",
}: Spec): Pick<ResolvedWebhookRouteSpec, "instance" | "deletionPolicy" | "suspend"> {
  return { instance, deletionPolicy, suspend };
}

function resolveVerification(
  { verification, exposure }: Spec,
  preset: Preset | undefined,
): ResolvedWebhookRouteSpec["verification"] {
  const { hmac, ...rest } = verification;
  const toleranceMs = preset?.toleranceMs ?? DEFAULT_TOLERANCE_MS;
  return {
    ...(toleranceMs > 0 && { tolerance: formatDuration(toleranceMs) }),
    publicUrl: `https://${exposure.host}${exposure.path}`,
    ...rest,
    ...(hmac === undefined
      ? {}
      : { hmac: { algorithm: "sha256", encoding: "hex", prefix: "", signedContent: "{body}", ...hmac } }),
  };
}

function resolveDedupe({ dedupe, verification }: Spec, preset: Preset | undefined): ResolvedWebhookRouteSpec["dedupe"] {
  const known = preset ?? { retryWindowMs: UNKNOWN_RETRY_MS, dedupe: [], withoutId: withoutPreset(verification) };
  const { window = formatDuration(known.retryWindowMs), keyFrom } = dedupe ?? {};
  return {
    window,
    keyFrom: keyFrom ?? known.dedupe.map(sourceText),
    // A signature is as good as new for a moment only; an equal body comes back as long as the provider repeats it.
    weakWindow: known.withoutId === "Body" ? window : (dedupe?.window ?? weakWindow(verification, preset)),
    withoutId: keyFrom === undefined ? known.withoutId : "Refuse",
  };
}

/** A request that is still good must still be known. */
function weakWindow({ tolerance }: WebhookRouteVerification, preset: Preset | undefined): string {
  const toleranceMs = tolerance === undefined ? (preset?.toleranceMs ?? 0) : parseDuration(tolerance);
  return toleranceMs > parseDuration(WEAK_WINDOW) ? formatDuration(toleranceMs) : WEAK_WINDOW;
}

/** Two requests that carry the same token are not the same request. */
function withoutPreset({ hmac, provider }: WebhookRouteVerification): WithoutId {
  return hmac === undefined && provider === undefined ? "None" : "Signature";
}

/** A part of a delivery's id as `keyFrom` writes it. */
function sourceText(source: DedupeSource): string {
  return source.from === "json" ? `json:${source.pointer}` : `${source.from}:${source.name}`;
}

function resolveLimits(limits: Spec["limits"]): ResolvedWebhookRouteSpec["limits"] {
  const { rateLimit, ...rest } = limits ?? {};
  return {
    maxBodyBytes: 262_144,
    maxInFlightPerPod: 1_000,
    maxBacklog: 1_000_000,
    ...rest,
    ...(rateLimit === undefined
      ? {}
      : { rateLimit: { per: "1s", burst: rateLimit.requests, by: "Route", ...rateLimit } }),
  };
}

function resolvePayload(
  { payload, destinations = [] }: Spec,
  preset: Preset | undefined,
): ResolvedWebhookRouteSpec["payload"] {
  const merged = { format: "Any" as const, requiredFields: [], ...preset?.payload, ...payload };
  if (payload?.format !== undefined) return merged;
  const isRead = merged.requiredFields.length > 0 || destinations.some(({ cleanup }) => cleanup !== undefined);
  return isRead ? { ...merged, format: "JSON" } : merged;
}

/** A target that runs in the cluster under the same hands is called in parallel; so is the API server, which takes the runs of a cleanup. */
function concurrencyOf({ serviceRef, handler, cleanup }: WebhookRouteDestination): number {
  return serviceRef !== undefined || handler !== undefined || cleanup !== undefined ? 16 : 1;
}

/** A target of one's own is retried quickly. A run waits for its policy as long as a message for an endpoint of others. */
function isOwn({ serviceRef, handler }: WebhookRouteDestination): boolean {
  return serviceRef !== undefined || handler !== undefined;
}

/** Its events may go to WebhookDestinations. */
function hasShared({ destinations, destinationSelector }: Spec): boolean {
  return destinationSelector !== undefined || destinations?.some((one) => one.destinationRef !== undefined) === true;
}

function resolveDestination(destination: WebhookRouteDestination, delivery: WebhookRouteDelivery): ResolvedDestination {
  return {
    ...destination,
    ...(destination.serviceRef === undefined
      ? {}
      : { serviceRef: { path: "/", scheme: "http", ...destination.serviceRef } }),
    delivery: resolveDelivery({ concurrency: concurrencyOf(destination), ...delivery }, isOwn(destination)),
  };
}

/** What holds for an endpoint of somebody else where neither it nor a route says anything. */
export const OTHERS_DELIVERY: ResolvedDestination["delivery"] = resolveDelivery({}, false);

function resolveDelivery(delivery: WebhookRouteDelivery, own: boolean): ResolvedDestination["delivery"] {
  const { signing, proxy } = delivery;
  return {
    timeout: delivery.timeout ?? "15s",
    concurrency: delivery.concurrency ?? 1,
    retry: resolveRetry(delivery.retry ?? {}, own),
    headers: delivery.headers ?? {},
    forwardHeaders: delivery.forwardHeaders ?? ["Content-Type"],
    ...(signing === undefined ? {} : { signing: { header: signingHeader(signing.scheme), ...signing } }),
    ...(proxy !== undefined && { proxy }),
  };
}

/** The header of a signature whose name is not written. */
export function signingHeader(scheme: "StandardWebhooks" | "Timestamped"): string {
  return scheme === "StandardWebhooks" ? "webhook-signature" : "X-Signature";
}

/**
 * The retry policy of a destination.
 *
 * @param own a target of one's own (serviceRef, handler, SDK) rather than somebody else's endpoint
 */
export function resolveRetry(retry: WebhookRouteRetry, own: boolean): ResolvedRetry {
  const bounds = {
    giveUpAfter: retry.giveUpAfter ?? "72h",
    maxRetryAfter: retry.maxRetryAfter ?? "168h",
    maxAge: retry.maxAge ?? "720h",
  };
  if (retry.backoff !== undefined) return { ...bounds, backoff: { jitter: true, ...retry.backoff } };
  if (retry.schedule !== undefined) return { ...bounds, schedule: retry.schedule, jitter: 0 };
  return own
    ? { ...bounds, schedule: OWN_SERVICE_SCHEDULE, jitter: 0 }
    : { ...bounds, schedule: FOREIGN_ENDPOINT_SCHEDULE, jitter: FOREIGN_ENDPOINT_JITTER };
}

function resolveWorker(worker: Spec["worker"]): Spec["worker"] {
  const dedicated = worker?.dedicated;
  if (dedicated === undefined) return {};
  const { autoscaling } = dedicated;
  return {
    dedicated: {
      concurrency: 500,
      ...(autoscaling === undefined ? { replicas: 1 } : {}),
      ...dedicated,
      ...(autoscaling === undefined ? {} : { autoscaling: { min: 1, targetBacklog: 100, ...autoscaling } }),
    },
  };
}
