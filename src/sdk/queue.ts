import { shortHash } from "../lib/hash.ts";

/** Where the chain's data lies; shared by server, worker and replay. */
export interface QueueOptions {
  /** Default: `REDIS_URL`, else `redis://localhost:6379`. */
  readonly redisUrl?: string;
  /** Names the queue: server, worker and replay of one chain use the same. Letters, digits, `.`, `_`, `-`. Default `webhooks`. */
  readonly queueName?: string;
}

/** A queue resolved to its place in Redis. */
export interface Queue {
  readonly url: string;
  readonly name: string;
  /** Name of its list of dead letters, as in logs and metrics. */
  readonly deadName: string;
  readonly scope: { readonly instance: string; readonly namespace: string };
  readonly route: string;
  readonly destination: string;
}

/**
 * Resolves the queue's place: tag `davit:default:{~sdk.<queueName>}`, one route, one destination.
 * @throws TypeError when the name is not usable
 */
export function resolveQueue(options: QueueOptions): Queue {
  const { queueName: name = "webhooks", redisUrl } = options;
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(name)) {
    throw new TypeError("queueName must be 1 to 128 letters, digits, dots, underscores or hyphens");
  }
  const namespace = `~sdk.${name}`;
  const route = shortHash(namespace, name);
  return {
    url: redisUrl ?? process.env["REDIS_URL"] ?? "redis://localhost:6379",
    name,
    deadName: `${name}.dead`,
    scope: { instance: "default", namespace },
    route,
    destination: `${route}/handler`,
  };
}
