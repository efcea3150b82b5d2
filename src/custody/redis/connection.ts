import { Redis, type RedisOptions as IoredisOptions } from "ioredis";
import { type ScriptCommands, withScripts } from "./scripts.ts";

/** A client with the custody scripts. */
export type CustodyClient = Redis & ScriptCommands;

/** Options by which a reply has the shapes of RESP2, whichever protocol is spoken. */
type RedisOptions = IoredisOptions & { readonly replyMapping?: "legacy" };

/** A command that has no answer after this long has failed; with the gateway's own work a frozen Redis is told within 2.5 s. */
export const COMMAND_TIMEOUT_MS = 2_000;

/**
 * Fails fast: no queue while the connection is down, one resend after a reconnect (every script may run twice), an answer or an error within
 * {@link COMMAND_TIMEOUT_MS}. `autoResendUnfulfilledCommands` keeps its default: without it ioredis 6.0.0 never settles what was in flight.
 */
export const FAIL_FAST: RedisOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  commandTimeout: COMMAND_TIMEOUT_MS,
  connectTimeout: 2_000,
  retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt - 1, 4), 500),
  // After a failover the old primary answers READONLY until the name resolves to the new one.
  reconnectOnError: (error) => (error.message.startsWith("READONLY") ? 1 : false),
};

const breaks = new WeakMap<Redis, number>();

/** How often the connection of a client has broken: a command during which this grew may have run twice, and its first answer is lost. */
export function breaksOf(redis: Redis): number {
  return breaks.get(redis) ?? 0;
}

/** `redis://` or `rediss://`. A function is asked again whenever a connection broke: host or password may be others by then. Must not throw. */
export type RedisUrl = string | (() => string);

const textOf = (url: RedisUrl): string => (typeof url === "string" ? url : url());

/** Has the client reconnect to what the URL says by then. */
function followUrl(redis: Redis, url: RedisUrl): void {
  if (typeof url === "string") return;
  redis.on("close", () => {
    const { hostname: host, port, username, password } = new URL(url());
    Object.assign(redis.options, {
      host,
      port: Number(port || 6_379),
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
    });
  });
}

/** Opens a fail-fast client. Errors are seen by whoever awaits a command; the client reconnects by itself. */
export function connect(url: RedisUrl, options: RedisOptions = {}): CustodyClient {
  const redis = new Redis(textOf(url), { ...FAIL_FAST, ...options });
  followUrl(redis, url);
  redis.on("error", () => {
    // Said by the monitor and by each command; an unhandled `error` event would end the process.
  });
  redis.on("close", () => breaks.set(redis, breaksOf(redis) + 1));
  return withScripts(redis);
}

const ignore = (): undefined => undefined;

/**
 * Opens a client as BullMQ wants it: commands wait for the connection instead of failing.
 *
 * @param onCopy is given the connections that BullMQ makes of this one. It closes them only as long as Redis answers; whoever opened the first has to see
 * that none of them goes on trying for ever, which would keep the process alive
 */
export function connectForTickets(url: RedisUrl, onCopy: (copy: Redis) => void = () => undefined): Redis {
  const redis = new Redis(textOf(url), {
    ...FAIL_FAST,
    maxRetriesPerRequest: null,
    enableOfflineQueue: true,
    commandTimeout: undefined,
  });
  // As above; BullMQ also reports it.
  redis.on("error", ignore);
  followUrl(redis, url);
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => {
    const copy = duplicate(override);
    followUrl(copy, url);
    copy.on("error", ignore);
    onCopy(copy);
    return copy;
  };
  return redis;
}
