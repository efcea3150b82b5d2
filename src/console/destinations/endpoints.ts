import type { Endpoint } from "../endpoint.ts";
import { enableDestination, holdDestination } from "./gate.ts";
import { getDestination, listDestinations } from "./read.ts";
import { testDestination } from "./test-endpoint.ts";

/** Endpoints about WebhookDestinations. */
export const DESTINATION_ENDPOINTS: readonly Endpoint[] = [
  listDestinations,
  getDestination,
  enableDestination,
  holdDestination,
  testDestination,
];
