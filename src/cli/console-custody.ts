import type { Custody } from "../console/endpoint.ts";
import type { RedisStore } from "../custody/redis/store.ts";

/** The custody of each namespace as the console uses it, over one store. */
export function consoleCustody(store: RedisStore, instance: string): (namespace: string) => Custody {
  return (namespace) => {
    const scope = { instance, namespace };
    return {
      operations: store.operations(scope),
      ledger: store.ledger(scope),
      statistics: store.statistics(scope),
      inbox: store.inbox(scope),
    };
  };
}
