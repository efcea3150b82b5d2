import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Notices } from "../notices.ts";
import type { Operations } from "../operations.ts";
import type { CustodyHealth, Inbox, Ledger, Outbox, RoutePolicy } from "../port.ts";
import type { Shelves } from "../shelves.ts";
import type { Statistics } from "../statistics.ts";
import { type CustodyClient, connect, connectForTickets, type RedisUrl } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { Incarnation, type Rollback } from "./incarnation.ts";
import { RedisInbox } from "./inbox.ts";
import { Janitor, type OperatedCopies } from "./janitor.ts";
import { type Scope, tagOf, ticketQueue } from "./keys.ts";
import { RedisLedger } from "./ledger.ts";
import { type DurabilityMode, Monitor } from "./monitor.ts";
import { RedisNotices } from "./notices.ts";
import { RedisOperations } from "./operations.ts";
import { RedisOutbox } from "./outbox.ts";
import { selfTest } from "./self-test.ts";
import { RedisShelves, ShelfDirectory } from "./shelves.ts";
import { RedisStatistics } from "./statistics.ts";
import { TicketQueues } from "./ticket-queues.ts";
import { TicketSource } from "./tickets.ts";

/** How long `start` waits for a connection before it reports that there is none. */
const CONNECT_WAIT_MS = 2_000;

export interface RedisStoreOptions {
  /** Credentials allowed. */
  readonly url: RedisUrl;
  /** Default `verify`. */
  readonly durability?: DurabilityMode;
  /** Replicas that must confirm a claim by WAIT. Default 0. */
  readonly replicas?: number;
  readonly onHealth?: (health: CustodyHealth) => void;
  /** The data of a namespace was emptied, or is an older copy: events acknowledged since then may be gone. */
  readonly onRollback?: (namespace: string, rollback: Rollback) => void;
}

/** What a worker's outbox needs to know of its routes, read each time it is used. */
export interface OutboxOptions {
  readonly policies: () => Iterable<RoutePolicy>;
  /** Route key, for a route with workers of its own. */
  readonly dedicatedRoute?: string;
  /**
   * Whether this worker's configuration has the route of a destination: its tickets then go into this worker's queue, others into the queue of whoever
   * serves them. Default: a route's own workers have that route; shared ones leave it to the store, which knows whose workers are there.
   */
  readonly owns?: (destination: string) => boolean;
  readonly ticketConcurrency?: number;
  /** What operators did is told to one process of the namespace, for counters. */
  readonly onOperated?: (operated: OperatedCopies) => void;
}

/**
 * Custody on one Redis: a composition of inbox, outbox and ledger per namespace. Connections: one for commands and one for the monitor, and three more
 * per outbox (BullMQ's two, hints).
 */
export class RedisStore {
  readonly #options: RedisStoreOptions;
  readonly #redis: CustodyClient;
  readonly #probe: CustodyClient;
  readonly #monitor: Monitor;
  readonly #inboxes = new Map<string, RedisInbox>();
  readonly #ledgers = new Map<string, RedisLedger>();
  readonly #incarnations: Incarnation[] = [];
  /** Names this process in leases. */
  readonly token = randomUUID().slice(0, 13);

  constructor(options: RedisStoreOptions) {
    this.#options = options;
    this.#redis = connect(options.url);
    this.#probe = connect(options.url);
    this.#monitor = new Monitor(this.#probe, options.durability ?? "verify", options.onHealth);
  }

  /** Waits for the first look at Redis, not for Redis: a store that is down is reported in `health`, and tried again. */
  async start(): Promise<CustodyHealth> {
    const connected = Promise.all([this.#redis, this.#probe].map(whenReady));
    await Promise.race([connected, sleep(CONNECT_WAIT_MS, undefined, { ref: false })]);
    return this.#monitor.start();
  }

  health(): CustodyHealth {
    return this.#monitor.health;
  }

  inbox(scope: Scope): Inbox {
    const tag = tagOf(scope);
    const known = this.#inboxes.get(tag);
    if (known !== undefined) return known;
    const inbox = new RedisInbox(this.#redis, tag, () => this.#options.replicas ?? 0);
    this.#inboxes.set(tag, inbox);
    this.#watch(scope, tag);
    return inbox;
  }

  ledger(scope: Scope): Ledger {
    const tag = tagOf(scope);
    const ledger = this.#ledgers.get(tag) ?? new RedisLedger(this.#redis, tag);
    this.#ledgers.set(tag, ledger);
    return ledger;
  }

  /** Lists, replays, discard and cancel. */
  operations(scope: Scope): Operations {
    return new RedisOperations(this.#redis, tagOf(scope));
  }

  /** How destinations are doing. */
  statistics(scope: Scope): Statistics {
    return new RedisStatistics(this.#redis, tagOf(scope));
  }

  /** What is to be told of the namespace's destinations. */
  notices(scope: Scope): Notices {
    return new RedisNotices(this.#redis, tagOf(scope));
  }

  /** What deleted routes of a namespace leave behind. For the controller and the operator: its user needs `davit:<instance>:shelves`, a key without a tag. */
  shelves(scope: Scope): Shelves {
    const directory = new ShelfDirectory(this.#redis, scope.instance);
    return new RedisShelves(this.#redis, tagOf(scope), { directory, namespace: scope.namespace });
  }

  /** Namespaces with shelves, also those that no longer exist in the cluster. */
  namespacesWithShelves(instance: string): Promise<readonly string[]> {
    return new ShelfDirectory(this.#redis, instance).namespaces();
  }

  /**
   * Runs every script on scratch keys of a namespace.
   * @throws CustodyError, `Denied` when this user's rules lack something
   */
  selfTest(scope: Scope): Promise<void> {
    return selfTest(this.#redis, this.#options.url, tagOf(scope));
  }

  /** A new outbox: a worker has one per namespace (and one per route with workers of its own). */
  outbox(scope: Scope, options: OutboxOptions): Outbox {
    const tag = tagOf(scope);
    const tickets = new TicketSource({
      url: this.#options.url,
      tag,
      redis: this.#redis,
      janitor: new Janitor(this.#redis, tag, options),
      dedicatedRoute: options.dedicatedRoute,
      owns: options.owns,
      ...(options.ticketConcurrency !== undefined && { concurrency: options.ticketConcurrency }),
    });
    return new RedisOutbox(this.#redis, tag, this.token, tickets);
  }

  /**
   * Removes the tickets of a route that has no workers of its own any more, or is gone. Those that are still needed are written anew into the queue of
   * whoever serves their destinations.
   */
  async retireTickets(scope: Scope, dedicatedRoute: string): Promise<void> {
    const connection = connectForTickets(this.#options.url);
    const queues = new TicketQueues(connection, tagOf(scope));
    try {
      await queues.retire(ticketQueue(dedicatedRoute));
      await queues.close();
    } catch (error) {
      throw asCustodyError(error);
    } finally {
      connection.disconnect();
    }
  }

  /** Closes every connection of this store. Outboxes are stopped by their own `stop` first. */
  close(): void {
    this.#monitor.stop();
    for (const incarnation of this.#incarnations) incarnation.stop();
    this.#redis.disconnect();
    this.#probe.disconnect();
  }

  #watch(scope: Scope, tag: string): void {
    const { onRollback } = this.#options;
    if (onRollback === undefined) return;
    const incarnation = new Incarnation(this.#probe, tag, (rollback) => onRollback(scope.namespace, rollback));
    this.#incarnations.push(incarnation);
    incarnation.start();
  }
}

async function whenReady(client: CustodyClient): Promise<void> {
  if (client.status !== "ready") await new Promise<void>((ready) => client.once("ready", () => ready()));
}
