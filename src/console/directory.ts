/** A route as the console knows it. */
export interface KnownRoute {
  readonly namespace: string;
  /** `metadata.name`. */
  readonly name: string;
  /** Route key, its name in custody. */
  readonly route: string;
  /** Whether an event of it may have a copy for this WebhookDestination (`~<id>`), by reference, selector or `idFrom`. */
  readonly mayReach: (destination: string) => boolean;
}

/** A WebhookDestination as the console knows it. */
export interface KnownDestination {
  readonly namespace: string;
  /** `metadata.name`. */
  readonly name: string;
  /** `spec.id`, else the name. */
  readonly id: string;
  /** `~<id>`, its name in custody. */
  readonly destination: string;
  readonly suspended: boolean;
}

/** Names of routes and WebhookDestinations of all namespaces, as published: a cluster's, or those of manifests in files. */
export interface Directory {
  /** Whether what it says is complete. Until then callers are answered 503. */
  readonly isReady: boolean;
  route(namespace: string, name: string): KnownRoute | undefined;
  routes(namespace: string): readonly KnownRoute[];
  destination(namespace: string, id: string): KnownDestination | undefined;
  destinations(namespace: string): readonly KnownDestination[];
  /** The WebhookDestination whose `access.tokenSecretRef` holds this token. Compared by SHA-256, so a look-up tells nothing of other tokens. */
  byToken(token: string): KnownDestination | undefined;
}
