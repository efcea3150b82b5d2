/**
 * The API server's data is older than what this process saw of it: everything that compares versions here would take the present for the past.
 * Nothing but a new start with empty caches helps.
 */
export class ServerRestoredError extends Error {
  override readonly name = "ServerRestoredError";
  readonly code = "ServerRestored";

  /** @param resource whose list showed it, in the plural */
  constructor(resource: string) {
    super(`the list of ${resource} is older than what was seen before: the API server was restored from a backup`);
  }
}
