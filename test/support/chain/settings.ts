/** What a process of the chain under test is told, as JSON in the environment variable `CHAIN`. */
export interface ChainSettings {
  readonly redisUrl: string;
  readonly sinkUrl: string;
  /** Port the gateway listens on; 0: one from the system. */
  readonly port?: number;
  /** Where the process ends itself by SIGKILL, once. */
  readonly killAt?: KillPoint;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  readonly delaysMs?: readonly number[];
}

/** The moments at which an event could be lost or doubled. */
export type KillPoint =
  | "written-not-answered"
  | "answered"
  | "request-sent"
  | "received-not-settled"
  | "done-ticket-open"
  | "moving-to-dead";

/** Reads the settings of this process. */
export function chainSettings(): ChainSettings {
  return JSON.parse(process.env["CHAIN"] ?? "{}") as ChainSettings;
}

/** Ends this process the way the kernel's OOM killer does: no handler runs, nothing is flushed. */
export function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
}
