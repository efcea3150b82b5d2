import type { WalkDeadReply, WalkLogReply } from "./walks.ts";

/** Scripts that need `lua/operations.lua` too: the command's name and the file's. */
export const OPERATION_SCRIPTS = {
  walkDead: "walk-dead",
  walkLog: "walk-log",
  actOn: "act-on",
  readRecord: "read-record",
  startReplay: "start-replay",
  steerReplay: "steer-replay",
  advanceReplays: "advance-replays",
} as const;

/** What they answer. */
export interface OperationReplies {
  walkDead: WalkDeadReply;
  walkLog: WalkLogReply;
  /** With Buffers, as `turnBuffer`. */
  readRecordBuffer: [bodyBytes: number, ...fields: Buffer[]];
  actOn: [copies: number, active: number];
  startReplay: number;
  steerReplay: number;
  advanceReplays: [] | [wait: number, copies?: number];
}
