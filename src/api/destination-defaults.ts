import { type ResolvedDestination, type ResolvedRetry, resolveRetry, signingHeader } from "./defaults.ts";
import type { WebhookDestinationSpec } from "./generated/webhook-destination.ts";

type Spec = WebhookDestinationSpec;
type Full<T> = Required<NonNullable<T>>;

/** A spec with every default filled in, in the words of the manifest. What is absent is filled by the `delivery` of the route an event comes from. */
export interface ResolvedWebhookDestinationSpec extends Pick<Spec, "url" | "tls" | "notify" | "access"> {
  readonly instance: string;
  readonly id: string;
  readonly allowInsecureHTTP: boolean;
  readonly serviceRef?: NonNullable<ResolvedDestination["serviceRef"]>;
  readonly signing?: Full<Spec["signing"]>;
  readonly headersFrom: NonNullable<Spec["headersFrom"]>;
  readonly concurrency?: number;
  readonly rateLimit?: Full<Spec["rateLimit"]>;
  readonly timeout?: string;
  readonly retry?: ResolvedRetry;
  readonly disableAfter: Full<Spec["disableAfter"]>;
  readonly suspend: boolean;
}

/**
 * Fills in every default of a WebhookDestination. Never written back to the spec; released defaults never change.
 *
 * @param name `metadata.name`, which is the id where none is written
 */
export function resolveDestinationSpec(spec: Spec, name: string): ResolvedWebhookDestinationSpec {
  const { signing, retry, rateLimit, serviceRef, ...rest } = spec;
  return {
    instance: "default",
    id: name,
    allowInsecureHTTP: false,
    headersFrom: [],
    suspend: false,
    ...rest,
    ...(serviceRef && { serviceRef: { path: "/", scheme: "http", ...serviceRef } }),
    ...(signing && { signing: { header: signingHeader(signing.scheme), ...signing } }),
    ...(rateLimit && { rateLimit: { per: "1s", burst: rateLimit.requests, ...rateLimit } }),
    ...(retry && { retry: resolveRetry(retry, false) }),
    disableAfter: { consecutiveFailures: 50, failingFor: "72h", ...spec.disableAfter },
  };
}
