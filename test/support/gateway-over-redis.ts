import { Writable } from "node:stream";
import type { Operations } from "../../src/custody/operations.ts";
import type { Inbox, Ledger } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import type { GatewayOptions } from "../../src/gateway/server.ts";
import { ringKey, routeEntry } from "../../src/gateway/testing.ts";
import { createLogger } from "../../src/observability/logger.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { presetOf } from "../../src/verification/verifier.ts";
import { startGateway, type Running } from "./gateway.ts";
import type { TestRedis } from "./redis.ts";

const SCOPE = { instance: "default", namespace: "shop" };

/** A gateway in front of a real store. */
export interface GatewayOverRedis extends Omit<Running, "inbox"> {
  readonly store: RedisStore;
  readonly ledger: Ledger;
  readonly operations: Operations;
  readonly inboxOf: () => Inbox;
  /** Everything that was logged, as it is written. */
  readonly log: () => string;
  readonly close: () => Promise<void>;
}

/** Starts one. */
export async function startGatewayOverRedis(
  redis: TestRedis,
  routes: readonly RouteEntry[],
  options: Partial<GatewayOptions> = {},
): Promise<GatewayOverRedis> {
  const store = new RedisStore({ url: redis.url });
  await store.start();
  let written = "";
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString();
      done();
    },
  });
  const running = await startGateway(routes, {
    inboxFor: (namespace) => store.inbox({ ...SCOPE, namespace }),
    logger: createLogger("gateway", { level: "debug", destination }),
    ...options,
  });
  return {
    ...running,
    store,
    ledger: store.ledger(SCOPE),
    operations: store.operations(SCOPE),
    inboxOf: () => store.inbox(SCOPE),
    log: () => written,
    close: async () => {
      await running.gateway.close(0);
      store.close();
    },
  };
}

/** A route of a provider as the controller compiles it by the preset, at `/push`. */
export function providerRoute(provider: string, changes: Partial<RouteEntry> = {}): RouteEntry {
  const preset = presetOf(provider);
  return routeEntry({
    methods: ["POST"],
    verification: { type: "provider", provider },
    toleranceMs: preset.toleranceMs,
    dedupe: {
      ...routeEntry().dedupe,
      sources: preset.dedupe,
      withoutId: preset.withoutId,
      bodyExcept: preset.bodyExcept ?? [],
      idWithBody: preset.idWithBody === true,
    },
    payload: preset.payload,
    response: { status: preset.ack.status },
    retention: { deliveredMs: 86_400_000, deadLettersMs: 86_400_000, maxEvents: 1_000, keepBodies: false },
    ...changes,
  });
}

/** A key of a route with a use. */
export function keyFor(use: RouteEntry["keys"][number]["use"], secret: string): RouteEntry["keys"][number] {
  return { ...ringKey(secret), use };
}
