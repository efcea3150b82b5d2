import type { ResolvedDestination, ResolvedRetry } from "../api/defaults.ts";
import { parseDuration } from "../lib/duration.ts";
import type { DestinationEntry, RetryPolicy, RingKey, RouteDelivery } from "./entry.ts";

/** A Service a route points at. */
export interface ServiceTarget {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly scheme: "http" | "https";
  readonly path: string;
}

/** Where Services are. */
export interface Surroundings {
  readonly namespace: string;
  /** URL of a Service. Default: its name in the cluster's DNS. */
  readonly serviceUrl?: (service: ServiceTarget) => string;
}

/** Where a destination's events go; with neither `url`, `serviceRef` nor `cleanup` to a handler in the worker. */
export function compileTarget(
  { serviceRef, url, cleanup }: Pick<ResolvedDestination, "serviceRef" | "url" | "cleanup">,
  { namespace, serviceUrl = clusterUrl }: Surroundings,
): DestinationEntry["target"] {
  if (cleanup !== undefined) return { type: "cleanup", policy: cleanup.policyRef.name };
  if (url !== undefined) return { type: "http", url };
  if (serviceRef === undefined) return { type: "handler" };
  const { name, port, path = "/", scheme = "http" } = serviceRef;
  return { type: "http", url: serviceUrl({ namespace, name, port, path, scheme }), viaService: true };
}

function clusterUrl({ scheme, name, namespace, port, path }: ServiceTarget): string {
  return `${scheme}://${name}.${namespace}.svc:${port}${path}`;
}

/** What a route's `delivery` says, whatever the target. @param keys the ring it signs with */
export function compileDelivery(
  delivery: ResolvedDestination["delivery"],
  keys: readonly RingKey[],
): RouteDelivery & { readonly concurrency: number } {
  const { timeout, concurrency, retry, headers, forwardHeaders, signing, proxy } = delivery;
  return {
    timeoutMs: parseDuration(timeout),
    concurrency,
    retry: compileRetry(retry),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    forwardHeaders: forwardHeaders.map((name) => name.toLowerCase()),
    ...(signing && { signing: compileSigner(signing, keys) }),
    ...(proxy !== undefined && { proxy }),
  };
}

/** How messages are signed. */
export function compileSigner(
  { scheme, header }: Pick<NonNullable<ResolvedDestination["delivery"]["signing"]>, "scheme" | "header">,
  keys: readonly RingKey[],
): NonNullable<DestinationEntry["signing"]> {
  return { scheme, header: header.toLowerCase(), keys };
}

/** A retry policy in ms. */
export function compileRetry(retry: ResolvedRetry): RetryPolicy {
  const bounds = {
    giveUpAfterMs: parseDuration(retry.giveUpAfter),
    maxRetryAfterMs: parseDuration(retry.maxRetryAfter),
    maxAgeMs: parseDuration(retry.maxAge),
  };
  if ("schedule" in retry) {
    return { ...bounds, type: "schedule", delaysMs: retry.schedule.map(parseDuration), jitter: retry.jitter };
  }
  const { initial, factor, max, jitter, maxAttempts } = retry.backoff;
  return {
    ...bounds,
    type: "backoff",
    initialMs: parseDuration(initial),
    factor,
    maxMs: parseDuration(max),
    jitter,
    maxAttempts,
  };
}
