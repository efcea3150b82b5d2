import type { Config } from "../../config/schema.ts";
import { redisUrlOf } from "../../config/secret-file.ts";
import type { Operator } from "../../controllers/webhook-route/operator.ts";
import type { RedisStore } from "../../custody/redis/store.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { Manager } from "../../runtime/manager.ts";
import { openStore } from "../edge.ts";
import { Custody } from "./custody.ts";
import { DestinationCustody } from "./destination-custody.ts";
import { DestinationNotices } from "./destination-notices.ts";
import { keepGatewayAccess } from "./gateway-access.ts";
import { noticeTargets } from "./notice-targets.ts";
import { ProvisionedUsers } from "./redis-users.ts";

export interface RedisSideOptions {
  readonly config: Config;
  /** Its writes ask the fence of the leader. */
  readonly client: KubeClient;
  readonly events: Pick<EventRecorder, "record">;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly isLeader: () => boolean;
}

/** Everything of the controller that talks to Redis: custody, and the users when they are `Provisioned`. */
export class RedisSide {
  readonly custody: Custody;
  readonly gates: DestinationCustody;
  readonly users: ProvisionedUsers | undefined;
  readonly #options: RedisSideOptions;
  readonly #store: RedisStore;

  constructor(options: RedisSideOptions) {
    const { config, logger, isLeader } = options;
    const { durability, replicas, urlFile, users } = config.redis;
    const { instance } = config;
    const url = redisUrlOf(urlFile);
    const store = openStore({ url, durability, replicas }, options);
    const orphans = (namespace: string) => store.shelves({ instance, namespace }).orphans();
    this.#options = options;
    this.#store = store;
    this.custody = new Custody({ ...options, store });
    this.gates = new DestinationCustody({ config, store, isLeader });
    this.users =
      users === "Provisioned" ? new ProvisionedUsers({ url, instance, logger, isLeader, orphans }) : undefined;
  }

  /** Adds what the leader does to a manager that does not run yet. */
  register(manager: Manager, operator: Operator): void {
    const { custody, gates, users } = this;
    custody.follow(operator);
    gates.follow(operator);
    manager.whileLeading((signal) => custody.lead(signal));
    manager.whileLeading((signal) => gates.lead(signal));
    const notices = new DestinationNotices({ ...this.#options, store: this.#store, targets: noticeTargets(operator) });
    manager.whileLeading((signal) => notices.lead(signal));
    if (users === undefined) return;
    manager.whileLeading((signal) => users.lead(signal, (namespace) => operator.enqueue.access(namespace)));
    const { config, client, logger } = this.#options;
    manager.whileLeading((signal) => keepGatewayAccess({ config, client, users, logger }, signal));
  }

  /** Begins to connect; a Redis that is away is waited for. */
  start(): void {
    void this.#store.start();
  }

  close(): void {
    this.#store.close();
    this.users?.close();
  }
}
