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

/**
 * Where the secrets lie that providers handed over in handshakes: `davit:<instance>:{<namespace>}handshakes{}:<route>`. It is in the namespace's slot, the
 * pattern of the gateway (`{*}:*`) covers it, and that of the namespace's workers (`{<namespace>}:*`), which run a tenant's code, does not.
 * `lua/shelf.lua` makes the same name.
 */
export function handshakesKey(tag: string, route: string): string {
  return `${tag.replace("}", "}handshakes{}")}:${route}`;
}

/** BullMQ queue of the tickets: the namespace's shared workers, or those of one route with workers of its own. */
export function ticketQueue(dedicatedRoute?: string): string {
  return dedicatedRoute === undefined ? "tickets-shared" : `tickets-r-${dedicatedRoute}`;
}
