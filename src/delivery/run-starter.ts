import type { RunStart, RunStarted } from "../api/run-start.ts";

/** Makes a run, at most once for an id. Rejects when it is not known whether there is one now; then asking again is safe. */
export type RunStarter = (start: RunStart, signal: AbortSignal) => Promise<RunStarted>;
