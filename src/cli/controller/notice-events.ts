import { idOfDestination } from "../../api/names.ts";
import type { Notice, NoticeKind, TakenNotice } from "../../custody/notices.ts";
import { enableCommand, noticeLine } from "../../delivery/notifications/notice-text.ts";
import type { NoticeChannel, TellContext } from "../../delivery/notifications/outcome.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Happening } from "../../kube/event-series.ts";
import type { Live } from "../../kube/objects.ts";

/** `reason` of the Event. */
const REASONS: Readonly<Record<NoticeKind, string>> = {
  Failing: "DestinationFailing",
  HalfWay: "DestinationHalfWayToDisabled",
  Disabled: "DestinationDisabled",
  Recovered: "DestinationRecovered",
};

export interface NoticeEventsOptions {
  readonly namespace: string;
  readonly events: Pick<EventRecorder, "record">;
  /** The object that a destination is of; `undefined` when there is none any more. */
  readonly find: (destination: string) => Live | undefined;
}

/** Tells by Kubernetes Events on the WebhookDestination, or on the WebhookRoute of an inline destination. */
export class NoticeEvents implements NoticeChannel {
  readonly #options: NoticeEventsOptions;

  constructor(options: NoticeEventsOptions) {
    this.#options = options;
  }

  isWanted(): boolean {
    return true;
  }

  async tell(taken: readonly TakenNotice[], { report }: TellContext): Promise<void> {
    const { namespace, events, find } = this.#options;
    await Promise.all(
      taken.map(async (one) => {
        const object = find(one.notice.destination);
        if (object === undefined) return report(one, { result: "unwanted" });
        events.record(object, happeningOf(namespace, one.notice, object.metadata.name));
        return report(one, { result: "told" });
      }),
    );
  }
}

function happeningOf(namespace: string, notice: Notice, object: string): Happening {
  const { kind, destination } = notice;
  const id = idOfDestination(destination);
  // An inline one is called by its name in the route, which is the object.
  const name = id === undefined ? destination.slice(destination.indexOf("/") + 1) : object;
  const subject = { namespace, name, id: id ?? name };
  const remedy = kind === "Disabled" && id !== undefined ? `; to enable it: ${enableCommand(subject)}` : "";
  return {
    type: kind === "Recovered" ? "Normal" : "Warning",
    reason: REASONS[kind],
    action: "Deliver",
    note: noticeLine(notice, subject) + remedy,
  };
}
