// Tells notices by webhooks, as a process of its own that can be killed. Arguments: Redis URL, JSON of the destination's entry, how long notices are held, ms.
import { RedisStore } from "../../src/custody/redis/store.ts";
import { NoticeWebhooks } from "../../src/delivery/notifications/notice-webhooks.ts";
import { notify, noticeRound } from "../../src/delivery/notifications/notifier.ts";
import { workerDestinations } from "../../src/delivery/worker-destinations.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger as logger } from "../../src/observability/logger.ts";
import type { DestinationEntry } from "../../src/routes/entry.ts";
import { loopbackSender } from "./loopback-sender.ts";

const [url = "", entry = "", holdMs = ""] = process.argv.slice(2);
const scope = { instance: "default", namespace: "shop" };
const destinations = workerDestinations([], {
  destinations: [JSON.parse(entry) as DestinationEntry],
  isLive: () => true,
});
const store = new RedisStore({ url });
await store.start();
const channel = new NoticeWebhooks({
  scope,
  sender: loopbackSender(),
  configuration: () => destinations,
  clock: systemClock,
});
const options = {
  namespace: scope.namespace,
  reader: "webhook",
  notices: store.notices(scope),
  channel,
  limit: 10,
  holdMs: Number(holdMs),
  logger,
} as const;
process.send?.("ready");
await notify(
  { round: (signal) => noticeRound(options, signal), intervalMs: 100, logger },
  new AbortController().signal,
);
