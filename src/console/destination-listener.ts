import type { Directory } from "./directory.ts";
import { statisticsBody } from "./destinations/read.ts";
import { testBody } from "./destinations/test-endpoint.ts";
import { sendTestEvent } from "./destinations/test-event.ts";
import type { Endpoint } from "./endpoint.ts";
import { countOwnDeadLetters, listOwnDeadLetters } from "./holder/dead-letters.ts";
import { getDelivery, listDeliveries, replayDelivery } from "./holder/deliveries.ts";
import { type Holder, HolderAccess, own, OwnRoutes } from "./holder/holder.ts";
import { HolderLimits } from "./holder/limits.ts";
import { createOwnReplay, getOwnReplay, listOwnReplays, OWN_REPLAY_STEPS } from "./holder/replays.ts";
import { type Console, createListener, type ListenerOptions } from "./server.ts";

/** `GET /v1/destination`: how the destination is doing, and the routes that reach it. */
const getOwnDestination = own({
  operation: "getOwnDestination",
  method: "GET",
  path: "/v1/destination",
  handle: async ({ caller: { destination: known }, directory, custody }) => {
    const routes = new OwnRoutes(directory, known).all.map(({ name }) => name).toSorted();
    return { body: { ...(await statisticsBody(custody, known)), routes } };
  },
});

/** `POST /v1/test`: sends a test event. */
const testOwnDestination = (limits: HolderLimits) =>
  own({
    operation: "testOwnDestination",
    method: "POST",
    path: "/v1/test",
    body: testBody,
    handle: async ({ caller, body, directory, custody }) => {
      limits.admitTest(caller);
      const sent = await sendTestEvent({ directory, custody }, caller.destination, body);
      return { status: 202, body: sent, audit: { event: sent.id } };
    },
  });

/** All endpoints of the listener of holders. Each is described in `docs/openapi/destination-v1.yaml`. */
export function holderEndpoints(limits: HolderLimits): readonly Endpoint<Holder>[] {
  return [
    getOwnDestination,
    testOwnDestination(limits),
    listDeliveries,
    getDelivery,
    replayDelivery,
    listOwnDeadLetters,
    countOwnDeadLetters,
    createOwnReplay,
    listOwnReplays,
    getOwnReplay,
    ...OWN_REPLAY_STEPS,
  ];
}

/** What the listener of holders needs. */
export type DestinationListenerOptions = Omit<ListenerOptions<Holder>, "endpoints" | "access" | "admit"> & {
  readonly directory: Directory;
  /** Default: bounds of its own. */
  readonly limits?: HolderLimits;
};

/**
 * Makes the listener for whoever has a token of a WebhookDestination (`access.tokenSecretRef`): they see and replay what goes to this one, and nothing else.
 * It is a server of its own, since it may be reached from outside; the one of operators never.
 */
export function createDestinationListener(options: DestinationListenerOptions): Console {
  const { limits = new HolderLimits(), ...others } = options;
  return createListener<Holder>({
    ...others,
    access: new HolderAccess(options.directory),
    admit: limits.admit,
    endpoints: holderEndpoints(limits),
  });
}
