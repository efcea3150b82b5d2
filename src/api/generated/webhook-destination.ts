// Generated from crds/webhookdestinations.davit.dev.yaml by `npm run generate`. Change the CRD, not this file.

/**
 * An endpoint of somebody else, to which the routes of its namespace may deliver.
 */
export interface WebhookDestination {
  /**
   * davit.dev/v1alpha1
   */
  apiVersion?: string;
  /**
   * WebhookDestination
   */
  kind?: string;
  metadata: WebhookDestinationMetadata;
  spec: WebhookDestinationSpec;
  status?: WebhookDestinationStatus;
}
export interface WebhookDestinationMetadata {
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
export interface WebhookDestinationSpec {
  /**
   * The Davit release that serves this destination. Immutable.
   */
  instance?: string;
  /**
   * What events and customers call it, any text; unique in the namespace. Immutable. Default: metadata.name.
   */
  id?: string;
  /**
   * Where deliveries are posted to; https unless allowInsecureHTTP, without user, password and fragment.
   */
  url?: string;
  /**
   * Permits http in url.
   */
  allowInsecureHTTP?: boolean;
  /**
   * A Service in the same namespace.
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
   * Signs deliveries, so that the receiver can tell where they come from. Default: the route's.
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
   * Headers sent with each delivery whose values are secret.
   *
   * @minItems 1
   * @maxItems 16
   */
  headersFrom?: {
    name: string;
    /**
     * A Secret with the label davit.dev/use: "true".
     */
    secretRef: {
      name: string;
      key: string;
    };
  }[];
  /**
   * Certificates of the exchange.
   */
  tls?: {
    /**
     * Authorities (PEM) instead of the system's, from a Secret with the label davit.dev/use: "true".
     */
    caSecretRef?: {
      name: string;
      key: string;
    };
    /**
     * Client certificate: a Secret with tls.crt and tls.key and the label davit.dev/use: "true".
     */
    clientCertificateSecretRef?: {
      name: string;
    };
  };
  /**
   * Requests at a time, over all pods and all routes. Default: the smallest that a route which uses it writes, else 1.
   */
  concurrency?: number;
  /**
   * Most requests, over all pods and all routes.
   */
  rateLimit?: {
    requests: number;
    /**
     * Default: 1s.
     */
    per?: string;
    /**
     * Requests that may go out at once. Default: requests.
     */
    burst?: number;
  };
  /**
   * For the whole exchange. Default: the route's, else 15s.
   */
  timeout?: string;
  /**
   * When a delivery is tried again, as a whole instead of the route's. Default: the route's, else the schedule 5s, 5m, 30m, 2h, 5h, 10h, 14h, 20h ± 10 %.
   */
  retry?: {
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
  };
  /**
   * Stops deliveries once both hold; nothing queued is lost. Default: 50 failures in a row and 72h.
   */
  disableAfter?: {
    /**
     * Default: 50.
     */
    consecutiveFailures?: number;
    /**
     * Default: 72h.
     */
    failingFor?: string;
  };
  /**
   * Who is told when it begins to fail, is disabled or recovers.
   */
  notify?: {
    /**
     * A webhook, signed as deliveries are, so that signing must be set; https.
     */
    url?: string;
    email?: string;
  };
  access?: {
    /**
     * Whoever holds this token lists and replays the deliveries of this destination only. A Secret with the label davit.dev/use: "true".
     */
    tokenSecretRef: {
      name: string;
      key: string;
    };
  };
  /**
   * Nothing is sent; copies wait and are not lost. Default: false.
   */
  suspend?: boolean;
}
export interface WebhookDestinationStatus {
  observedGeneration?: number;
  /**
   * @maxItems 32
   */
  conditions?: WebhookDestinationCondition[];
  /**
   * The id it holds in its namespace.
   */
  id?: string;
  circuit?: "Closed" | "Open";
  /**
   * There while it is disabled.
   */
  disabled?: {
    reason: string;
    since: string;
  };
  /**
   * Commands given by annotation that were done.
   */
  lastHandled?: {
    enableAt?: string;
  };
}
export interface WebhookDestinationCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}
