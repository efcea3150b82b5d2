import {
  type ClaimResult,
  CustodyError,
  type Inbox,
  type KeptHandshake,
  type NewEvent,
  type Rejection,
  type RoutePolicy,
} from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { HandshakeSecrets } from "./handshake-secrets.ts";
import { metaJson } from "./record.ts";

const MAX_ENTRIES = 64;
/** With so many collected, a batch does not wait for the end of a long turn of the event loop: Redis would stand idle meanwhile. */
const EAGER = 12;
const MAX_COPIES = 256;
const MAX_BYTES = 1_048_576;
/** Batches under way at once: with two, one is verified and collected while Redis works on the other. */
const MAX_FLYING = 2;
const KEPT_REJECTIONS = 100;
const REJECTIONS_TTL_S = 7 * 86_400;
const WAIT_MS = 1_000;

interface Pending {
  readonly event: NewEvent;
  readonly resolve: (result: ClaimResult) => void;
  readonly reject: (error: CustodyError) => void;
}

const OUTCOMES: Readonly<Record<string, ClaimResult["outcome"]>> = {
  N: "new",
  D: "duplicate",
  R: "revived",
  U: "reused",
};

/** What follows the head of an event with a nonce. */
function nonceText({ nonce }: NewEvent): string {
  return nonce === undefined
    ? ""
    : ` ${nonce.key.toString("base64url")} ${nonce.bodyHash.toString("base64url")} ${nonce.windowMs}`;
}

/** Mode, mark and body hash as `claim.lua` reads them. */
function markText({ mark }: NewEvent): string {
  if (mark === undefined) return "- - -";
  const hash = mark.bodyHash === undefined ? "-" : `${mark.oneBody ? "!" : ""}${mark.bodyHash.toString("base64url")}`;
  return `${mark.weak ? "w" : "m"} ${mark.key.toString("base64url")} ${hash}`;
}

/**
 * The ingest side on Redis: what arrives in one turn of the event loop goes out as one script, at most 64 events, 256 copies and 1 MiB.
 * `replicas`: how many must confirm each batch by WAIT before anything of it is acknowledged.
 */
export class RedisInbox implements Inbox {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #handshakes: HandshakeSecrets;
  readonly #replicas: () => number;
  #queue: Pending[] = [];
  #flying = 0;
  #scheduled = false;

  constructor(redis: CustodyClient, tag: string, replicas: () => number = () => 0) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#handshakes = new HandshakeSecrets(redis, tag);
    this.#replicas = replicas;
  }

  claim(event: NewEvent): Promise<ClaimResult> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ event, resolve, reject });
      if (this.#queue.length >= EAGER && this.#flying < MAX_FLYING) return this.#flush();
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    });
  }

  reject(rejection: Rejection): void {
    const key = `${this.#prefix}rejected:${rejection.route}`;
    const { route: _, ...kept } = rejection;
    this.#redis
      .multi()
      .lpush(key, JSON.stringify(kept))
      .ltrim(key, 0, KEPT_REJECTIONS - 1)
      .expire(key, REJECTIONS_TTL_S)
      .exec()
      .catch(() => {
        // Best effort: a trace of a refusal is not worth an answer to the sender.
      });
  }

  async keep(kept: KeptHandshake): Promise<void> {
    try {
      const replicas = this.#replicas();
      await this.#confirmed(this.#handshakes.add(kept), replicas);
    } catch (error) {
      throw asCustodyError(error);
    }
  }

  #flush(): void {
    while (this.#queue.length > 0 && this.#flying < MAX_FLYING) {
      const batch = this.#nextBatch();
      this.#flying++;
      void this.#send(batch).finally(() => {
        this.#flying--;
        this.#flush();
      });
    }
  }

  #nextBatch(): Pending[] {
    let copies = 0;
    let bytes = 0;
    let size = 0;
    for (const { event } of this.#queue) {
      copies += event.destinations.length;
      bytes += event.body.length;
      if (size > 0 && (size === MAX_ENTRIES || copies > MAX_COPIES || bytes > MAX_BYTES)) break;
      size++;
    }
    return this.#queue.splice(0, size);
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    try {
      const replies = await this.#run(batch.map(({ event }) => event));
      for (const [index, pending] of batch.entries()) pending.resolve(readReply(replies[index]));
    } catch (cause) {
      const error = asCustodyError(cause);
      // A script error is about one entry; it must not refuse the others. Anything else leaves the whole batch unknown.
      if (error.code === "Script" && batch.length > 1) {
        for (const pending of batch) await this.#send([pending]);
        return;
      }
      for (const pending of batch) pending.reject(error);
      if (error.code === "Timeout" || error.code === "Unreachable") this.#refuseQueue(error);
    }
  }

  /** What waits behind a batch that got no answer would get none in time either, and must not be written long after its sender was told to come back. */
  #refuseQueue(cause: CustodyError): void {
    const error = new CustodyError("Unreachable", "Redis did not answer those before it; nothing was sent", { cause });
    for (const pending of this.#queue.splice(0)) pending.reject(error);
  }

  async #run(events: readonly NewEvent[]): Promise<readonly string[]> {
    const args = claimArguments(events);
    const replicas = this.#replicas();
    return this.#confirmed(this.#redis.claim(this.#prefix, ...args), replicas);
  }

  /** Same connection, next command: WAIT covers the writes before it, and is their last word. */
  async #confirmed<T>(write: Promise<T>, replicas: number): Promise<T> {
    if (replicas === 0) return write;
    const [result, confirmed] = await Promise.all([write, this.#redis.wait(replicas, WAIT_MS)]);
    if (confirmed < replicas)
      throw new CustodyError(
        "NoReplicas",
        `${confirmed} of ${replicas} replicas confirmed the write within ${WAIT_MS} ms`,
      );
    return result;
  }
}

/** Policies of a batch with the limits of the destinations its events go to. */
class Policies {
  readonly #positions = new Map<RoutePolicy, number>();
  readonly #list: { readonly policy: RoutePolicy; readonly limits: Record<string, number> }[] = [];
  #seen: NewEvent["destinations"] | undefined;

  /** @returns the position from 1, as Lua counts */
  add({ policy, destinations }: NewEvent): number {
    let position = this.#positions.get(policy);
    if (position === undefined) {
      position = this.#list.push({ policy, limits: {} });
      this.#positions.set(policy, position);
      this.#seen = undefined;
    }
    // A route hands out the same array for every event that goes to all its destinations.
    if (destinations !== this.#seen) {
      const limits = this.#list[position - 1]?.limits ?? {};
      for (const { destination, limit } of destinations) limits[destination] = limit;
      this.#seen = destinations;
    }
    return position;
  }

  toString(): string {
    return JSON.stringify(this.#list.map(({ policy, limits }) => ({ ...policyArgument(policy), limits })));
  }
}

/** Few arguments: each costs on its way out, in Redis's parser and in Lua. */
function claimArguments(events: readonly NewEvent[]): (string | number | Buffer)[] {
  const policies = new Policies();
  const args: (string | number | Buffer)[] = ["", events.length];
  for (const event of events) {
    const { id, seq, destinations, headers, eventType, body } = event;
    const [only] = destinations;
    const names =
      destinations.length === 1 && only
        ? only.destination
        : destinations.map(({ destination }) => destination).join(" ");
    args.push(
      `${id} ${policies.add(event)} ${markText(event)} ${seq}${nonceText(event)}`,
      names,
      metaJson(headers, eventType),
      body,
    );
  }
  args[0] = policies.toString();
  return args;
}

/** The part of a policy the scripts read. */
export function policyArgument(policy: RoutePolicy): Record<string, unknown> {
  return {
    route: policy.route,
    windowMs: policy.windowMs,
    earlierWindows: policy.earlierWindows,
    deliveredMs: policy.retention.deliveredMs,
    deadLettersMs: policy.retention.deadLettersMs,
    maxEvents: policy.retention.maxEvents,
    keepBodies: policy.retention.keepBodies,
    ...(policy.suspended && { suspended: true }),
  };
}

function readReply(reply: string | undefined): ClaimResult {
  const outcome = OUTCOMES[reply?.[0] ?? ""];
  if (reply === undefined || outcome === undefined)
    throw new CustodyError("Script", "the claim script left an entry unanswered");
  return { outcome, id: reply.slice(1) };
}
