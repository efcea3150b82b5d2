import { z } from "zod";
import type { Acted } from "../custody/operations.ts";
import type { CopyView } from "../custody/port.ts";
import type { Right } from "./access.ts";
import { actedAnswer } from "./acted.ts";
import { type Custody, type Endpoint, endpoint } from "./endpoint.ts";
import { readable } from "./events.ts";
import { destination } from "./filters.ts";
import { destinationNamed, routeNamed } from "./naming.ts";
import { Refused } from "./refusals.ts";

/** The copies of one event that a call names. */
interface NamedCopies {
  readonly eventId: string;
  /** Absent: all of them. */
  readonly destination?: string;
}

interface Action {
  readonly operation: string;
  readonly path: "replay" | "discard" | "restore" | "cancel";
  readonly right: Pick<Right, "verb" | "on">;
  readonly act: (custody: Custody, named: NamedCopies) => Promise<Acted>;
}

const ACTIONS: readonly Action[] = [
  {
    operation: "replayEvent",
    path: "replay",
    right: { verb: "create", on: "webhookroutes/replays" },
    act: async ({ ledger }, { eventId, destination: copy }) => {
      const { replayed } = await ledger.replay(eventId, copy);
      return { copies: replayed, active: 0 };
    },
  },
  {
    operation: "discardEvent",
    path: "discard",
    right: { verb: "delete", on: "webhookroutes/deadletters" },
    act: ({ operations }, named) => operations.discard(named),
  },
  {
    operation: "restoreEvent",
    path: "restore",
    right: { verb: "delete", on: "webhookroutes/deadletters" },
    act: ({ operations }, named) => operations.restore(named),
  },
  {
    operation: "cancelEvent",
    path: "cancel",
    right: { verb: "delete", on: "webhookroutes/events" },
    act: ({ operations }, named) => operations.cancel(named),
  },
];

/** `POST …/events/{event}/replay`, `discard`, `restore` and `cancel`: what can be done to the copies of one event. */
export const EVENT_ACTIONS: readonly Endpoint[] = ACTIONS.map(({ operation, path, right, act }) =>
  endpoint({
    operation,
    method: "POST",
    path: `/v1/namespaces/{namespace}/routes/{route}/events/{event}/${path}` as "/v1/namespaces/{namespace}/routes/{route}/events/{event}/replay",
    body: z.strictObject({ destination: destination.optional() }),
    rights: ({ path: { namespace, route } }) => [{ ...right, namespace, name: route }],
    handle: async ({ path: { namespace, route: name, event: id }, body, directory, custody }) => {
      const route = routeNamed(directory, namespace, name);
      const own = custody(namespace);
      const event = await readable(own.operations.event(id, { route: route.route }));
      if (event?.route !== route.route) throw new Refused("NoSuchEvent");
      const copy =
        body.destination === undefined ? undefined : destinationNamed(body.destination, route, "destination");
      demandCopy(event.copies, copy);
      const named = { eventId: id, ...(copy !== undefined && { destination: copy }) };
      const { audit, ...answer } = actedAnswer(await act(own, named));
      return { ...answer, audit: { ...audit, destination: body.destination } };
    },
  }),
);

function demandCopy(copies: readonly CopyView[], wanted: string | undefined): void {
  if (wanted === undefined || copies.some(({ destination: own }) => own === wanted)) return;
  throw new Refused("NoSuchDestination", { message: "this event has no copy for this destination" });
}
