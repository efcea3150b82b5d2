import { API_VERSION } from "../../api/names.ts";
import type { PurgedRoute } from "../../custody/keep-shelves.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Logger } from "../../observability/logger.ts";

/** Events of a deleted route that were removed for good. */
export interface Purge extends PurgedRoute {
  readonly namespace: string;
  /** By `deletionPolicy: Purge`; else because they had been on their shelf for too long. */
  readonly isAsked: boolean;
}

/** Tells of a purge once, with counts: an Event about the route that was, and a line in the log for when its namespace is gone as well. */
export function tellPurge(
  { events, logger }: { readonly events: Pick<EventRecorder, "record">; readonly logger: Logger },
  purge: Purge,
): void {
  const { namespace, name, route, records, undelivered, deadLetters, unreadable, isAsked } = purge;
  if (records === 0 && unreadable === 0) return;
  const why = isAsked
    ? "as its deletionPolicy asked"
    : "they had been kept for as long as controller.orphanRetentionMs";
  logger[isAsked ? "info" : "warn"](
    { namespace, route: name || route, records, undelivered, deadLetters, unreadable },
    `events of a deleted route were removed, ${why}`,
  );
  if (name === "") return;
  const left = unreadable === 0 ? "" : `; ${unreadable} records of a newer Davit are left`;
  // The object is gone: its name finds the Event, and the route's key stands in for a UID.
  const regarding = { apiVersion: API_VERSION, kind: "WebhookRoute" };
  events.record(
    { ...regarding, metadata: { name, namespace, uid: route, resourceVersion: "" } },
    {
      type: isAsked ? "Normal" : "Warning",
      reason: isAsked ? "EventsPurged" : "EventsExpired",
      action: "Purge",
      note: `${records} events were removed, ${why}: ${undelivered} copies had not been delivered, ${deadLetters} were dead letters${left}`,
    },
  );
}
