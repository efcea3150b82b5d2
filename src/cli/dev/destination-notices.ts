import type { RedisStore } from "../../custody/redis/store.ts";
import { NoticeLines } from "../../delivery/notifications/notice-lines.ts";
import { notify, noticeRound } from "../../delivery/notifications/notifier.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";

/** Notices of a round. */
const AT_ONCE = 100;

export interface NoticeLog {
  readonly store: Pick<RedisStore, "notices">;
  readonly scope: { readonly instance: string; readonly namespace: string };
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Says in the log what a cluster's Events would say of destinations, until the signal fires. */
export function logNotices({ store, scope, logger, metrics }: NoticeLog, signal: AbortSignal): Promise<void> {
  const { namespace } = scope;
  const channel = new NoticeLines(namespace, logger);
  const notices = store.notices(scope);
  const options = { namespace, reader: "events", notices, channel, limit: AT_ONCE, logger, metrics } as const;
  return notify({ round: (stop) => noticeRound(options, stop), logger }, signal);
}
