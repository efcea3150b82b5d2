import type { WalkDeadReply, WalkLogReply } from "./walks.ts";

/** Scripts that need `lua/operations.lua` too: the command's name and the file's. */
export const OPERATION_SCRIPTS = {
  walkDead: "walk-dead",
  walkLog: "walk-log",
  actOn: "act-on",
  startReplay: "start-replay",
  steerReplay: "steer-replay",
  advanceReplays: "advance-replays",
} as const;

/** What they answer. */
export interface OperationReplies {
  walkDead: WalkDeadReply;
  walkLog: WalkLogReply;
  actOn: [copies: number, active: number];
  startReplay: number;
  steerReplay: number;
  advanceReplays: [] | [wait: number, copies?: number];
}
