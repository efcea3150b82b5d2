import type { RouteVerification } from "../verification/config.ts";
import type { DedupeSource, WithoutId } from "../verification/presets/preset.ts";
import type { KeyState, KeyUse } from "../verification/types.ts";

/** A key of a route's ring as published: the value is base64 of the Secret's bytes. */
export interface RingKey {
  /** 8 hex digits of HMAC-SHA256(release key, value). */
  readonly id: string;
  readonly keyId?: string;
  readonly use: KeyUse;
  readonly state: KeyState;
  /** Unix ms since which it is in this state. */
  readonly since: number;
  /** Unix ms after which gateways refuse it by their own clock. */
  readonly notAfter?: number;
  readonly value: string;
}

/** When the next attempt is, as data. Delays in ms. */
export type RetryPolicy = {
  readonly giveUpAfterMs: number;
  readonly maxRetryAfterMs: number;
  readonly maxAgeMs: number;
} & (
  | {
      readonly type: "schedule";
      readonly delaysMs: readonly number[] /** Relative, 0.1 = ± 10 %. */;
      readonly jitter: number;
    }
  | {
      readonly type: "backoff";
      readonly initialMs: number;
      readonly factor: number;
      readonly maxMs: number;
      /** Full jitter: a delay is uniform in [0, computed]. */
      readonly jitter: boolean;
      readonly maxAttempts: number;
    }
);

/** Certificates of an exchange with a destination, PEM. */
export interface DestinationTls {
  /** Authorities instead of the system's. */
  readonly ca?: string;
  /** Client certificate with its chain, and its key; both or neither. */
  readonly certificate?: string;
  readonly key?: string;
}

/** Where a destination's requests go. */
export interface HttpTarget {
  readonly type: "http";
  readonly url: string;
  /** It came from a `serviceRef`: it may lead into the cluster, and nowhere else. Absent: it must lead to a public address. */
  readonly viaService?: true;
}

/**
 * A run of a CleanupPolicy of the route's namespace. `minReader` stays 1: workers of a version before it fail the attempt with `no_handler`, which is tried
 * again for two days; gateways of such a version let bodies through that the workers then refuse.
 */
export interface CleanupTarget {
  readonly type: "cleanup";
  /** Name of the CleanupPolicy. */
  readonly policy: string;
}

/**
 * A destination as a worker needs it. Fields that are not in every older entry are optional. `headersFrom`, `tls` and the values of `signing.keys` are secret:
 * they are in a worker's config only, never in an entry for gateways.
 */
export interface DestinationEntry {
  /** `<route key>/<name>`, or `~<id>` (`destinationId`) of a WebhookDestination. */
  readonly id: string;
  /** Its name in the route, or the WebhookDestination's. */
  readonly name: string;
  /** `shared`: a WebhookDestination, which several routes may use. Absent: `inline`. */
  readonly kind?: "inline" | "shared";
  /** Of a WebhookDestination, its own publisher's stamp: the configuration its gate goes by. Absent: the route's. */
  readonly seq?: number;
  /** Headers whose values come from Secrets, lower-case names. They win over {@link headers}. */
  readonly headersFrom?: Readonly<Record<string, string>>;
  readonly tls?: DestinationTls;
  /** Most requests, over all pods and routes: a token bucket. */
  readonly rateLimit?: { readonly requests: number; readonly perMs: number; readonly burst: number };
  /** Disabled once both hold. Absent: never for failures. */
  readonly disableAfter?: { readonly consecutiveFailures: number; readonly failingForMs: number };
  /** Who is told when it fails, is disabled or recovers. */
  readonly notify?: { readonly url?: string; readonly email?: string };
  /** URL of an egress proxy, for a target that is no Service. */
  readonly proxy?: string;
  /** `http:` is allowed for its URL. */
  readonly allowInsecureHttp?: boolean;
  /** Of a WebhookDestination: nothing is sent to it now. */
  readonly suspended?: boolean;
  /** Of a WebhookDestination: fields whose Secret gives no value. Nothing is sent until it does. */
  readonly incomplete?: readonly string[];
  /** Of a WebhookDestination, those of its labels that {@link RouteEntry.destinationLabels} may ask for. Absent, in older configs: it has whatever is asked. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Of a WebhookDestination: fields it does not write itself, so that {@link RouteEntry.delivery} of the event's route decides them. */
  readonly gaps?: readonly (keyof RouteDelivery)[];
  readonly target: HttpTarget | CleanupTarget | { readonly type: "handler" };
  /** Empty: every type. Patterns: exact, or a prefix ending in `*`. */
  readonly eventTypes: readonly string[];
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly retry: RetryPolicy;
  readonly headers: Readonly<Record<string, string>>;
  readonly forwardHeaders: readonly string[];
  readonly signing?: {
    readonly scheme: "StandardWebhooks" | "Timestamped";
    readonly header: string;
    readonly keys: readonly RingKey[];
  };
}

/** What a route says of the deliveries to WebhookDestinations, where they leave it open. */
export interface RouteDelivery
  extends Pick<DestinationEntry, "timeoutMs" | "retry" | "headers" | "forwardHeaders" | "signing" | "proxy"> {
  /** Only where the route writes it: of several routes the smallest counts. */
  readonly concurrency?: number;
}

/** A route compiled from its manifest, its Secrets and its key ring: all that gateways and workers need. Plain JSON. */
export interface RouteEntry {
  readonly schema: 1;
  readonly minReader: 1;
  /** Stamped by the publisher; grows with every change. */
  readonly seq: number;
  readonly instance: string;
  readonly namespace: string;
  readonly name: string;
  /** Route key: 16 hex digits of SHA-256(namespace UID, name). */
  readonly route: string;
  readonly host: string;
  readonly path: string;
  readonly methods: readonly string[];
  readonly suspend: "None" | "Ingest" | "Delivery" | "All";
  readonly verification: RouteVerification;
  readonly publicUrl: string;
  /** 0: a signed timestamp is not held against the clock. */
  readonly toleranceMs: number;
  readonly allowedSourceRanges: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly keys: readonly RingKey[];
  readonly dedupe: {
    readonly windowMs: number;
    readonly earlierWindows: readonly { readonly windowMs: number; readonly until: number }[];
    /** Parts of the id. Empty: the weak key, unless `disabled`. */
    readonly sources: readonly DedupeSource[];
    readonly weakWindowMs: number;
    /** `token`, `basic`, `none` without `keyFrom`. */
    readonly disabled: boolean;
    /** JSON pointers of what is left out of the body when an id or the weak key is bound to it; an empty one leaves all of it out. Absent: nothing. */
    readonly bodyExcept?: readonly string[];
    /** The id is bound to the body although it is signed. Absent: only if a part of it is not signed. */
    readonly idWithBody?: boolean;
    /** What counts when a part is missing. `Refuse` for a written `keyFrom`. Absent, in entries of older controllers: `Refuse`, and without sources `Signature`. */
    readonly withoutId?: WithoutId | "Refuse";
  };
  readonly limits: {
    readonly maxBodyBytes: number;
    readonly maxInFlightPerPod: number;
    readonly maxBacklog: number;
    readonly rateLimit?: {
      readonly requests: number;
      readonly perMs: number;
      readonly burst: number;
      readonly by: "Route" | "SourceIP";
    };
  };
  readonly payload: {
    readonly format: "Any" | "JSON";
    readonly requiredFields: readonly string[];
    readonly eventTypeFrom?: string;
  };
  readonly response: { readonly status: number };
  readonly retention: {
    readonly deliveredMs: number;
    readonly deadLettersMs: number;
    readonly maxEvents: number;
    readonly keepBodies: boolean;
  };
  /** What happens to its events when the route is deleted. Absent: they are kept on a shelf for a while. */
  readonly deletionPolicy?: "Purge";
  readonly worker: { readonly dedicated: boolean; readonly concurrency: number };
  /** The command to end previous keys that was carried out last (`davit.dev/revoke-previous-at`). */
  readonly revokedAt?: string;
  /** Inline ones. */
  readonly destinations: readonly DestinationEntry[];
  /** Copies for WebhookDestinations, by `destinationRef` or a selector; with `destinations` at most 32. Absent: none. */
  readonly sharedCopies?: readonly SharedCopy[];
  /** `json:/POINTER` or `header:NAME` of the WebhookDestination's id in the event: one copy for `~<id>`, whether it exists or not, and no list. */
  readonly destinationIdFrom?: string;
  /** Labels a WebhookDestination must have for the route's events to choose it. Absent: none. Only with {@link destinationIdFrom}. */
  readonly destinationLabels?: Readonly<Record<string, string>>;
  /** For the events it sends to WebhookDestinations. Absent when it can have none. */
  readonly delivery?: RouteDelivery;
}

/** What a gateway needs of a WebhookDestination to make a copy for it. */
export interface SharedCopy {
  /** `~<id>`, see `destinationId`. */
  readonly id: string;
  /** Name of the WebhookDestination. */
  readonly name: string;
  /** The destination's `concurrency`: how many workers' slots its lane wants. */
  readonly limit: number;
  /** The route's filter. Empty: every type. Patterns: exact, or a prefix ending in `*`. */
  readonly eventTypes: readonly string[];
}
