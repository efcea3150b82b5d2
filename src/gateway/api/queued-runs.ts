import type { CleanupRunRef } from "../../api/cleanup-run.ts";
import type { CopyState, CopyView, EventView, Ledger } from "../../custody/port.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { CLEANUP_RUN_HEADER } from "../../routes/delivery-id.ts";
import type { InsideDoor } from "../inside-door.ts";
import type { RunAnswer } from "./run-view.ts";

/** Events whose ids are remembered: who polls for a run is not looked for among all events each time. */
const MAX_KNOWN = 4_096;
/** Searches under way at a time in this process, and waiting: each reads the metadata of up to 1,000 events of a route. */
const MAX_SEARCHES = 2;
const MAX_WAITING = 64;
/** Routes that are searched for one run. */
const MAX_ROUTES = 8;

export interface QueuedRunsOptions {
  readonly door: Pick<InsideDoor, "cleaning">;
  readonly ledgerFor: (namespace: string) => Pick<Ledger, "event" | "findByProviderId">;
}

/** What became of the copy that asks for a run. `delivered`: there is one, or there was. */
export type QueuedRun = RunAnswer | "delivered" | "unknown" | "busy";

interface Found {
  readonly event: EventView;
  readonly copy: CopyView;
}

/** States in the order in which they decide: a copy that may still make the run comes before one that did not. */
const ORDER: readonly CopyState[] = [
  "active",
  "waiting",
  "delayed",
  "shelved",
  "dead",
  "expired",
  "cancelled",
  "discarded",
  "delivered",
];
const LIVE: ReadonlySet<CopyState> = new Set(["active", "waiting", "delayed", "shelved"]);

/** Looks in custody for the events that ask for runs which are not there, by the run ids that gateways kept with them. */
export class QueuedRuns {
  readonly #options: QueuedRunsOptions;
  readonly #known = new BoundedMap<string, string>(MAX_KNOWN);
  readonly #searches = new Semaphore(MAX_SEARCHES, MAX_WAITING);

  constructor(options: QueuedRunsOptions) {
    this.#options = options;
  }

  /** Of several events with the run's id the one decides that may still make it, else the newest. @throws CustodyError */
  async find(ref: CleanupRunRef): Promise<QueuedRun> {
    const { door } = this.#options;
    const routes = door.cleaning(ref.namespace, ref.policy).slice(0, MAX_ROUTES);
    if (routes.length === 0) return "unknown";
    const destinations = new Set(routes.flatMap((route) => route.destinations));
    const known = await this.#knownLive(ref, destinations);
    if (known !== undefined) return told(ref, known);
    const found = await this.#searches.run(() => this.#search(ref, routes, destinations));
    return found === undefined ? "busy" : this.#first(ref, found);
  }

  async #knownLive(ref: CleanupRunRef, destinations: ReadonlySet<string>): Promise<Found | undefined> {
    const id = this.#known.get(keyOf(ref));
    const event = id === undefined ? undefined : await this.#options.ledgerFor(ref.namespace).event(id);
    return event && foundIn(event, destinations).find(({ copy }) => LIVE.has(copy.state));
  }

  async #search(
    { namespace, runId }: CleanupRunRef,
    routes: readonly { readonly route: string }[],
    destinations: ReadonlySet<string>,
  ): Promise<readonly Found[]> {
    const ledger = this.#options.ledgerFor(namespace);
    const matches = await Promise.all(
      routes.map(({ route }) =>
        ledger.findByProviderId({ route, id: runId, marks: [], windows: [], headers: [CLEANUP_RUN_HEADER] }),
      ),
    );
    const events = matches.flat().flatMap(({ event }) => event ?? []);
    return events.flatMap((event) => foundIn(event, destinations));
  }

  #first(ref: CleanupRunRef, found: readonly Found[]): QueuedRun {
    const [first] = found.toSorted(
      (a, b) => ORDER.indexOf(a.copy.state) - ORDER.indexOf(b.copy.state) || b.event.receivedAt - a.event.receivedAt,
    );
    if (first === undefined) return "unknown";
    this.#known.set(keyOf(ref), first.event.id);
    return told(ref, first);
  }
}

function keyOf({ namespace, policy, runId }: CleanupRunRef): string {
  return `${namespace}/${policy}/${runId}`;
}

/** An event that a filter kept from the destination asks for no run. */
function foundIn(event: EventView, destinations: ReadonlySet<string>): Found[] {
  return event.copies
    .filter(({ destination, state }) => destinations.has(destination) && ORDER.includes(state))
    .map((copy) => ({ event, copy }));
}

function told({ runId }: CleanupRunRef, { event, copy }: Found): QueuedRun {
  if (copy.state === "delivered") return "delivered";
  const { phase, reason, message } = stateOf(event, copy);
  const receivedAt = new Date(event.receivedAt).toISOString();
  return { runId, phase, reason, message, eventId: event.id, receivedAt };
}

function stateOf({ id }: EventView, { state, attempts }: CopyView) {
  const last = attempts.findLast(({ reason }) => reason !== undefined);
  if (LIVE.has(state)) {
    return { phase: "Pending", reason: "Queued", message: `event ${id} is in custody; its run is not made yet` };
  }
  if (state === "dead") {
    const message = `event ${id} is a dead letter and made no run: once the cause is gone, replay it with davit replay ${id}, or send it again`;
    return { phase: "Failed", reason: last?.reason ?? "DeadLetter", message };
  }
  if (state === "expired") {
    return { phase: "Failed", reason: "Expired", message: `event ${id} became too old before its run could be made` };
  }
  return { phase: "Cancelled", reason: "EventCancelled", message: `event ${id} was taken away by an operator` };
}
