// Generated from crds/webhookroutes.davit.dev.yaml by `npm run generate`. Change the CRD, not this file.

/**
 * Receives webhooks at one URL, verifies and stores them, and delivers each to its destinations.
 */
export interface WebhookRoute {
  /**
   * davit.dev/v1alpha1
   */
  apiVersion?: string;
  /**
   * WebhookRoute
   */
  kind?: string;
  metadata: WebhookRouteMetadata;
  spec: WebhookRouteSpec;
  status?: WebhookRouteStatus;
}
export interface WebhookRouteMetadata {
  name: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  resourceVersion?: string;
  creationTimestamp?: string;
  labels?: {
    [k: string]: string;
  };
  annotations?: {
    [k: string]: string;
  };
  [k: string]: unknown;
}
export interface WebhookRouteSpec {
  /**
   * The Davit release that serves this route. Immutable.
   */
  instance?: string;
  /**
   * Where the route is reached from outside.
   */
  exposure: {
    /**
     * Host name, lower case, without a port. Hosts belong to the release.
     */
    host: string;
    /**
     * Exact path in normal form, without query and percent-encoding.
     */
    path: string;
    /**
     * Accepted methods. Default: POST.
     *
     * @minItems 1
     * @maxItems 5
     */
    methods?: ("DELETE" | "GET" | "PATCH" | "POST" | "PUT")[];
  };
  verification: WebhookRouteVerification;
  /**
   * Keys, current first for each use. A changed value stays valid for rotation.overlap. May be absent where a provider needs none.
   *
   * @minItems 1
   * @maxItems 5
   */
  secretRefs?: WebhookRouteSecretRef[];
  rotation?: {
    /**
     * How long the previous key stays valid after a change. Default: 24h.
     */
    overlap?: string;
  };
  dedupe?: {
    /**
     * How long after receipt an equal delivery is a duplicate. Default: the preset's longest retry period, else 168h.
     */
    window?: string;
    /**
     * Parts of the delivery's id, all of which must be there: header:NAME, json:/pointer (RFC 6901) or form:NAME. Default: the preset's.
     *
     * @minItems 1
     * @maxItems 4
     */
    keyFrom?: string[];
  };
  limits?: {
    /**
     * Default: 262144.
     */
    maxBodyBytes?: number;
    /**
     * Default: 1000.
     */
    maxInFlightPerPod?: number;
    rateLimit?: {
      requests: number;
      /**
       * Default: 1s.
       */
      per?: string;
      /**
       * Requests that may come at once. Default: requests.
       */
      burst?: number;
      /**
       * Route (shared out over the gateway pods) or SourceIP. Default: Route.
       */
      by?: "Route" | "SourceIP";
    };
    /**
     * Undelivered events above which new ones are answered 429. Default: 1000000.
     */
    maxBacklog?: number;
  };
  payload?: {
    /**
     * Default: JSON with requiredFields or a cleanup destination, else what the preset demands, else Any.
     */
    format?: "Any" | "JSON";
    /**
     * Top-level fields, or pointers beginning with /, that must be there.
     *
     * @minItems 1
     * @maxItems 32
     */
    requiredFields?: string[];
    /**
     * header:NAME or json:/pointer.
     */
    eventTypeFrom?: string;
  };
  response?: {
    /**
     * Default: the preset's, else 202.
     */
    status?: number;
  };
  /**
   * Each gets its own copy of an event, with its own retries.
   *
   * @minItems 1
   * @maxItems 32
   */
  destinations?: WebhookRouteDestination[];
  /**
   * WebhookDestinations of the namespace instead of a list.
   */
  destinationSelector?: {
    matchLabels: {
      [k: string]: string;
    };
    /**
     * Chooses the one destination by its id in the event: header:NAME or json:/pointer.
     */
    idFrom?: string;
  };
  delivery?: WebhookRouteDelivery;
  worker?: {
    /**
     * A worker Deployment for this route alone. Default: the namespace's shared workers.
     */
    dedicated?: {
      /**
       * Default: 1.
       */
      replicas?: number;
      /**
       * Requests at a time in one pod. Default: 500.
       */
      concurrency?: number;
      autoscaling?: {
        type: "HPA" | "KEDA" | "External";
        /**
         * Default: 1.
         */
        min?: number;
        max?: number;
        /**
         * Copies per pod. Default: 100.
         */
        targetBacklog?: number;
      };
      resources?: {
        requests?: {
          [k: string]: number | string;
        };
        limits?: {
          [k: string]: number | string;
        };
      };
      scheduling?: {
        nodeSelector?: {
          [k: string]: string;
        };
        /**
         * @maxItems 16
         */
        tolerations?: {
          key?: string;
          operator?: "Exists" | "Equal";
          value?: string;
          effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
          tolerationSeconds?: number;
        }[];
        /**
         * @maxItems 8
         */
        topologySpreadConstraints?: {
          topologyKey: string;
          whenUnsatisfiable: "DoNotSchedule" | "ScheduleAnyway";
          maxSkew: number;
        }[];
        priorityClassName?: string;
      };
      /**
       * @maxItems 64
       */
      env?: {
        name: string;
        value?: string;
        valueFrom?: {
          /**
           * A Secret with the label davit.dev/use: "true".
           */
          secretKeyRef?: {
            name: string;
            key: string;
          };
          configMapKeyRef?: {
            name: string;
            key: string;
          };
        };
      }[];
      /**
       * An image whose own command calls createWorker, for a handler.
       */
      image?: string;
    };
  };
  retention?: {
    /**
     * How long a delivered event is kept after receipt. Default: 72h.
     */
    delivered?: string;
    /**
     * How long a dead letter is kept after its death. Default: 720h.
     */
    deadLetters?: string;
    /**
     * Delivered events that are kept at most. Default: 10000.
     */
    maxEvents?: number;
    /**
     * Keep the body of a delivered event as long as its record. Default: false.
     */
    keepBodies?: boolean;
  };
  /**
   * What becomes of undelivered events when the route is deleted.
   */
  deletionPolicy?: "Retain" | "Purge";
  /**
   * Stops a side without losing anything: Ingest answers 503, Delivery leaves copies on the shelf.
   */
  suspend?: "None" | "Ingest" | "Delivery" | "All";
}
/**
 * How a request proves where it comes from. Exactly one of provider, hmac, token, basic, none.
 */
export interface WebhookRouteVerification {
  /**
   * Name of a preset, see `davit providers`.
   */
  provider?: string;
  /**
   * An HMAC scheme as data.
   */
  hmac?: {
    /**
     * Header with the signature.
     */
    header: string;
    /**
     * Hash. Default: sha256.
     */
    algorithm?: "sha1" | "sha256" | "sha384" | "sha512";
    /**
     * Encoding of the signature. Default: hex (any case).
     */
    encoding?: "hex" | "base64" | "base64url";
    /**
     * Text before the signature, for example `sha256=`.
     */
    prefix?: string;
    /**
     * Splits several signatures or parameters in the header.
     */
    separator?: string;
    /**
     * What is signed: {body} {timestamp} {id} {method} {url} {path} {header:NAME} and literal text. Default: {body}.
     */
    signedContent?: string;
    /**
     * Where the signed timestamp is sent.
     */
    timestamp?: {
      header?: string;
      /**
       * Name of a parameter inside the signature header.
       */
      param?: string;
      /**
       * Default: seconds.
       */
      unit?: "seconds" | "milliseconds" | "rfc3339";
    };
    /**
     * Header in which the sender names the key (`secretRefs[].keyId`).
     */
    keyIdHeader?: string;
  };
  /**
   * A static token in a header.
   */
  token?: {
    header: string;
    /**
     * Text before the token, for example `Bearer `.
     */
    prefix?: string;
  };
  /**
   * HTTP Basic; the Secret holds username and password.
   */
  basic?: {};
  /**
   * No verification. Must be written out, and is shown in status.
   */
  none?: {};
  /**
   * How far a signed timestamp may lie in the past or future. Default: the preset's, else 300s.
   */
  tolerance?: string;
  /**
   * The URL as it is set up at the sender, query and user information included: signed by some. Default: https, host and path of exposure.
   */
  publicUrl?: string;
  /**
   * Client addresses that are let in, as an extra condition.
   *
   * @minItems 1
   * @maxItems 64
   */
  allowedSourceRanges?: string[];
  /**
   * Settings of a preset, named by it, see `davit providers`.
   */
  parameters?: {
    [k: string]: string;
  };
}
export interface WebhookRouteSecretRef {
  /**
   * Secret in the route's namespace.
   */
  name: string;
  /**
   * Entry of the Secret. An entry `<key>.next` is accepted in advance.
   */
  key?: string;
  /**
   * Id by which the sender names this key.
   */
  keyId?: string;
  /**
   * The key is refused from then on.
   */
  notAfter?: string;
  /**
   * Signing keys verify requests; a VerifyToken is compared when the provider asks who is there; an ApiCredential fetches its public keys. Default: Signing.
   */
  use?: "Signing" | "VerifyToken" | "ApiCredential";
}
export interface WebhookRouteDestination {
  name: string;
  /**
   * A Service in the route's namespace.
   */
  serviceRef?: {
    name: string;
    port: number;
    /**
     * Default: /.
     */
    path?: string;
    /**
     * Default: http.
     */
    scheme?: "http" | "https";
  };
  /**
   * An endpoint outside; https unless allowInsecureHTTP.
   */
  url?: string;
  /**
   * Permits http in url.
   */
  allowInsecureHTTP?: boolean;
  /**
   * A WebhookDestination in the route's namespace.
   */
  destinationRef?: {
    name: string;
  };
  /**
   * Starts a run of a CleanupPolicy.
   */
  cleanup?: {
    policyRef: {
      name: string;
    };
  };
  /**
   * The user's own image, built on the SDK.
   */
  handler?: {};
  /**
   * Types that are delivered: exact, or a prefix ending in *. Default: all.
   *
   * @minItems 1
   * @maxItems 32
   */
  eventTypes?: string[];
}
export interface WebhookRouteDelivery {
  /**
   * For the whole exchange. Default: 15s.
   */
  timeout?: string;
  /**
   * Requests at a time for each destination, over all pods. Default: 16 for serviceRef, cleanup and handler, 1 for the others.
   */
  concurrency?: number;
  retry?: WebhookRouteRetry;
  /**
   * Sent with each delivery.
   */
  headers?: {
    [k: string]: string;
  };
  /**
   * Headers of the received request that are passed on. Default: Content-Type.
   *
   * @maxItems 32
   */
  forwardHeaders?: string[];
  /**
   * Signs deliveries, so that the receiver can tell where they come from.
   */
  signing?: {
    scheme: "StandardWebhooks" | "Timestamped";
    /**
     * A Secret with the label davit.dev/use: "true".
     */
    secretRef: {
      name: string;
      key: string;
    };
    /**
     * Default: X-Signature.
     */
    header?: string;
  };
  /**
   * Egress proxy.
   */
  proxy?: string;
}
export interface WebhookRouteRetry {
  /**
   * The delay before each further attempt, without jitter. Attempts = length + 1.
   *
   * @minItems 1
   * @maxItems 50
   */
  schedule?: string[];
  /**
   * Delay n = min(max, initial × factor^(n−1)).
   */
  backoff?: {
    initial: string;
    factor: number;
    max: string;
    /**
     * Full jitter: uniform between 0 and the delay. Default: true.
     */
    jitter?: boolean;
    maxAttempts: number;
  };
  /**
   * Since the first attempt, without the time spent waiting for a free slot. Default: 72h.
   */
  giveUpAfter?: string;
  /**
   * Longest Retry-After that is honoured. Default: 168h.
   */
  maxRetryAfter?: string;
  /**
   * Since receipt or the last revival; then the copy expires. Default: 720h.
   */
  maxAge?: string;
}
export interface WebhookRouteStatus {
  observedGeneration?: number;
  /**
   * @maxItems 32
   */
  conditions?: WebhookRouteCondition[];
  /**
   * Where the provider posts to.
   */
  url?: string;
  /**
   * Commands given by annotation that were done.
   */
  lastHandled?: {
    enableAt?: string;
    revokePreviousAt?: string;
  };
  rotation?: {
    /**
     * @maxItems 5
     */
    keys?: {
      id: string;
      since: string;
      notAfter?: string;
      state: "Current" | "Previous" | "Next";
    }[];
    overlapEndsAt?: string;
  };
  /**
   * @maxItems 32
   */
  destinations?: {
    name: string;
    circuit?: "Closed" | "Open";
    disabledSince?: string;
    reason?: string;
  }[];
  /**
   * Rounded to one significant digit; exact numbers are in the metrics.
   */
  backlog?: {
    state?: "Empty" | "Draining" | "Growing" | "Stuck";
    waiting?: number;
    deadLetters?: number;
  };
}
export interface WebhookRouteCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}
