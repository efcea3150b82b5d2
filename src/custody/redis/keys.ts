/** One namespace's custody in one release. */
export interface Scope {
  /** `--instance`, default `default`. */
  readonly instance: string;
  readonly namespace: string;
}

/**
 * The tag under which everything of a namespace lies: `davit:<instance>:{<namespace>}`. The braces make it one Redis Cluster slot, the whole one
 * ACL pattern.
 */
export function tagOf(scope: Scope): string {
  return `davit:${scope.instance}:{${scope.namespace}}`;
}

/** BullMQ queue of the tickets: the namespace's shared workers, or those of one route with workers of its own. */
export function ticketQueue(dedicatedRoute?: string): string {
  return dedicatedRoute === undefined ? "tickets-shared" : `tickets-r-${dedicatedRoute}`;
}
