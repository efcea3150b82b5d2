import {
  destinationPolicy,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import type { NewEvent, RoutePolicy, Settle } from "../../src/custody/port.ts";
import { Janitor } from "../../src/custody/redis/janitor.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import {
  freshNamespace,
  knownDestination,
  knownRoute,
  startConsole,
  type TestConsole,
  TestDirectory,
} from "./console.ts";
import type { TestRedis } from "./redis.ts";

/** Keys of the routes `payments` and `refunds`. */
export const PAYMENTS = "00112233445566aa";
export const REFUNDS = "00112233445566bb";

/** A console over a namespace with two routes and two WebhookDestinations, `acme` and `zürich ag`, and with what puts events there. */
export interface ConsoleCustody {
  readonly running: TestConsole;
  readonly namespace: string;
  /** `/v1/namespaces/…` */
  readonly base: string;
  /** Accepts an event of `payments` for its destination `orders`, unless told otherwise. @returns its id */
  accept(change?: Partial<NewEvent>): Promise<string>;
  /** Accepts one and has its copies end so; whatever waits for the same destination is leased meanwhile, so nothing should. @returns its id */
  ended(outcome: Settle["outcome"], change?: Partial<NewEvent>, record?: Partial<Settle["record"]>): Promise<string>;
  /** A round of what workers do unasked: retention and replays, until none runs. */
  tend(policies?: readonly RoutePolicy[]): Promise<void>;
  close(): Promise<void>;
}

export async function startConsoleCustody(
  redis: Pick<TestRedis, "url">,
  bounds: Parameters<typeof startConsole>[2] = {},
): Promise<ConsoleCustody> {
  const namespace = freshNamespace();
  const routes = [knownRoute(namespace, "payments", PAYMENTS), knownRoute(namespace, "refunds", REFUNDS)];
  const destinations = ["acme", "zürich ag"].map((id) => knownDestination(namespace, id));
  const running = await startConsole(redis, new TestDirectory(routes, destinations), bounds);
  const scope = { instance: "default", namespace };
  const { store } = running;
  const outbox = store.outbox(scope, { policies: () => [] });
  const janitorRedis = connect(redis.url, { enableOfflineQueue: true });
  const accept = async (change: Partial<NewEvent> = {}) => (await store.inbox(scope).claim(eventOf(change))).id;
  return {
    running,
    namespace,
    base: `/v1/namespaces/${namespace}`,
    accept,
    ended: async (outcome, change = {}, record = {}) => {
      const id = await accept(change);
      const event = eventOf(change);
      for (const { destination } of event.destinations) {
        const policy = destinationPolicy({ destination, policy: event.policy });
        const copies = (await take(outbox, policy)).filter(({ eventId }) => eventId === id);
        const settles = copies.map((copy) =>
          settlement(copy, outcome, {
            record: {
              attempt: copy.attempt,
              at: Date.now(),
              status: 404,
              action: actionOf(outcome),
              ...reasonOf(outcome),
              ...record,
            },
            ...(outcome === "retry" && { delayMs: 60_000 }),
          }),
        );
        await settle(outbox, settles, policy);
      }
      return id;
    },
    tend: async (policies = [policyOf(PAYMENTS), policyOf(REFUNDS)]) => {
      await janitorRedis.del(`${tagOf(scope)}:janitor`);
      const janitor = new Janitor(janitorRedis, tagOf(scope), { policies: () => policies });
      await janitor.pass();
      await janitor.advanceReplays();
    },
    close: async () => {
      janitorRedis.disconnect();
      await running.close();
    },
  };
}

export const policyOf = (route: string) => routePolicy({ route });

function eventOf(change: Partial<NewEvent>): NewEvent {
  return newEvent({
    policy: policyOf(PAYMENTS),
    destinations: [{ destination: `${PAYMENTS}/orders`, limit: 16 }],
    ...change,
  });
}

const actionOf = (outcome: Settle["outcome"]) =>
  outcome === "dead" || outcome === "delivered" || outcome === "retry" ? outcome : "unknown";
const reasonOf = (outcome: Settle["outcome"]) => (outcome === "dead" ? { reason: "Status404" } : {});
