import type { GateState } from "../../custody/gate.ts";
import type { NewEvent, RoutePolicy } from "../../custody/port.ts";
import { monotonicUlids } from "../../lib/ulid.ts";
import type { Directory, KnownDestination, KnownRoute } from "../directory.ts";
import type { Custody } from "../endpoint.ts";
import { invalid } from "../refusals.ts";

/** Type of a test event that names none. */
const TEST_TYPE = "davit.test";

/** What a test event is to be. */
interface TestEventRequest {
  /** Name of its route. Absent: the only one that may reach the destination. */
  readonly route?: string | undefined;
  readonly eventType?: string | undefined;
  readonly data?: unknown;
}

/** A test event that is in custody. */
interface SentTestEvent {
  /** Its outcome is read by it. */
  readonly id: string;
  readonly route: string;
  readonly eventType: string;
  /** State of the destination's gate: one that is shut lets the event wait. */
  readonly gate: GateState;
}

const nextId = monotonicUlids();

/** ms. */
const FOR_EVER = 10 * 365 * 86_400_000;

/**
 * Puts an event into custody with one copy, for this destination, and none for others; it is delivered like any event of the route.
 *
 * @throws Refused `RequestInvalid` that names no route the destination is not reached by; CustodyError
 */
export async function sendTestEvent(
  {
    directory,
    custody,
  }: { readonly directory: Directory; readonly custody: (namespace: string) => Pick<Custody, "inbox" | "ledger"> },
  known: KnownDestination,
  { route: name, eventType = TEST_TYPE, data = {} }: TestEventRequest,
): Promise<SentTestEvent> {
  const route = routeTo(directory, known, name);
  const now = Date.now();
  const event: NewEvent = {
    id: nextId(now),
    policy: neutralPolicy(route.route),
    mark: undefined,
    headers: { "content-type": "application/json" },
    // As Standard Webhooks has it: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#payload-structure
    body: Buffer.from(JSON.stringify({ type: eventType, timestamp: new Date(now).toISOString(), data })),
    seq: 0,
    eventType,
    destinations: [{ destination: known.destination, limit: 1 }],
  };
  const { inbox, ledger } = custody(known.namespace);
  await inbox.claim(event);
  const { state: gate } = await ledger.gate(known.destination);
  return { id: event.id, route: route.name, eventType, gate };
}

/** Routes whose events may reach a destination. */
export function routesTo(directory: Directory, { namespace, destination }: KnownDestination): readonly KnownRoute[] {
  return directory.routes(namespace).filter((route) => route.mayReach(destination));
}

/** A route that exists and one that does not are refused alike: who may test a destination need not know what else there is. */
function routeTo(directory: Directory, known: KnownDestination, name: string | undefined): KnownRoute {
  const routes = routesTo(directory, known);
  const [only, ...others] = name === undefined ? routes : routes.filter((route) => route.name === name);
  if (only !== undefined && others.length === 0) return only;
  const message =
    only === undefined
      ? "no route of this name reaches the destination"
      : "several routes reach the destination: name one of them";
  throw invalid([{ field: "route", message }]);
}

/** The console does not know how long a route keeps its events. Under this policy a claim removes nothing; workers then go by the route's own. */
function neutralPolicy(route: string): RoutePolicy {
  return {
    route,
    windowMs: FOR_EVER,
    earlierWindows: [],
    retention: { deliveredMs: FOR_EVER, deadLettersMs: FOR_EVER, maxEvents: 1e9, keepBodies: false },
  };
}
