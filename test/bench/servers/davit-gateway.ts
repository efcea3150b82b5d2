// Davit's gateway over its own Redis custody, with logs and metrics on, as `davit gateway` composes it.
import { RedisStore } from "../../../src/custody/redis/store.ts";
import { createGateway } from "../../../src/gateway/server.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { MatchTable } from "../../../src/routes/match-table.ts";
import { benchRoute, childSettings, NAMESPACE } from "../settings.ts";
import { listen } from "./listen.ts";

const store = new RedisStore({ url: childSettings().redisUrl });
await store.start();
const inbox = store.inbox({ instance: "default", namespace: NAMESPACE });
const routes = new MatchTable();
routes.replace([benchRoute("http://127.0.0.1:9/")], Date.now());

const gateway = createGateway({
  table: {
    lookup(host, path) {
      const found = routes.match(host, path, Date.now());
      if (found.type === "route") return found.entry;
      return found.type === "vanished" ? "vanished" : undefined;
    },
  },
  inboxFor: () => inbox,
  health: () => store.health(),
  clock: systemClock,
  metrics: createMetrics(),
  logger: createLogger("gateway"),
});
await listen(gateway.server);
