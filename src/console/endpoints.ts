import { cancelCopies } from "./copies.ts";
import { countDeadLetters, discardDeadLetters, listDeadLetters, restoreDeadLetters } from "./dead-letters.ts";
import { DESTINATION_ENDPOINTS } from "./destinations/endpoints.ts";
import type { Endpoint } from "./endpoint.ts";
import { EVENT_ACTIONS } from "./event-actions.ts";
import { getEvent, listEvents, listEventsBySequence } from "./events.ts";
import { listRejections } from "./rejections.ts";
import { createReplay, getReplay, listReplays, REPLAY_STEPS } from "./replays.ts";

/** All endpoints of the listener of operators. Each is described in `docs/openapi/v1.yaml`. */
export const ENDPOINTS: readonly Endpoint[] = [
  listEvents,
  getEvent,
  ...EVENT_ACTIONS,
  listEventsBySequence,
  listRejections,
  listDeadLetters,
  countDeadLetters,
  discardDeadLetters,
  restoreDeadLetters,
  cancelCopies,
  createReplay,
  listReplays,
  getReplay,
  ...REPLAY_STEPS,
  ...DESTINATION_ENDPOINTS,
];
