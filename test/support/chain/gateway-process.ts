// A gateway as a process of its own: the real one, with a trap at the named kill point.
import type { Inbox } from "../../../src/custody/port.ts";
import { RedisStore } from "../../../src/custody/redis/store.ts";
import { createGateway } from "../../../src/gateway/server.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { MatchTable } from "../../../src/routes/match-table.ts";
import { chainRoute } from "./route.ts";
import { chainSettings, die } from "./settings.ts";

const { redisUrl, sinkUrl, port = 0, killAt } = chainSettings();
const route = chainRoute(sinkUrl);
const table = new MatchTable();
table.replace([route], Date.now());

const store = new RedisStore({ url: redisUrl });
await store.start();
const real = store.inbox({ instance: "default", namespace: route.namespace });
const inbox: Inbox = {
  async claim(event) {
    const result = await real.claim(event);
    if (killAt === "written-not-answered") die();
    return result;
  },
  reject: (rejection) => real.reject(rejection),
  keep: (kept) => real.keep(kept),
};

const gateway = createGateway({
  table: {
    lookup: (host, path) => {
      const match = table.match(host, path, Date.now());
      if (match.type === "route") return match.entry;
      return match.type === "vanished" ? "vanished" : undefined;
    },
  },
  inboxFor: () => inbox,
  health: () => store.health(),
  clock: systemClock,
  metrics: createMetrics(),
  logger: createLogger("gateway", { level: process.env["DAVIT_LOG_LEVEL"] ?? "error" }),
});
if (killAt === "answered") {
  gateway.server.on("request", (_request, response) => {
    response.once("finish", () => {
      if (response.statusCode < 300) setTimeout(die, 2);
    });
  });
}
gateway.server.listen(port, "127.0.0.1", () => {
  const address = gateway.server.address();
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 });
});
