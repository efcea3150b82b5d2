import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "../command.ts";
import type { DevConflict } from "./places.ts";

/** A route as other commands need it to name what lies in custody. */
export interface DevRoute {
  readonly namespace: string;
  readonly name: string;
  /** Route key. */
  readonly route: string;
  readonly host: string;
  readonly path: string;
}

/** A WebhookDestination as other commands need it to name what lies in custody. */
export interface DevDestinationName {
  readonly namespace: string;
  readonly name: string;
  /** `spec.id`, else the name. */
  readonly id: string;
  /** `~<id>`, its name in custody. */
  readonly destination: string;
}

/** What a running `davit dev` tells the other commands, in `dev.json` (0600: it holds the password of Redis and the tokens of the APIs). */
export interface DevState {
  readonly pid: number;
  /** When the process began, in ticks since boot; empty where the system does not say. Tells a reused pid. */
  readonly processStart: string;
  readonly instance: string;
  readonly redis?: { readonly url: string /** Of an embedded one. */; readonly pid?: number };
  /** `http://127.0.0.1:PORT` */
  readonly gateway?: string;
  readonly admin?: string;
  /** Where events are published, and the token for it; a new one with every start. */
  readonly api?: { readonly url: string; readonly token: string };
  /** The operations API, and the token for it; another new one. */
  readonly console?: { readonly url: string; readonly token: string };
  /** The API of one destination, for whoever has a token of it. */
  readonly destinationApi?: { readonly url: string };
  readonly routes: readonly DevRoute[];
  readonly destinations?: readonly DevDestinationName[];
  /** Routes that do not get the place they want. */
  readonly conflicts?: readonly DevConflict[];
}

const FILE = "dev.json";

/** The data directory of a running `davit dev`, held by this process. */
export class DevDirectory {
  readonly path: string;
  /** What a process that was killed here left behind. */
  readonly leftover: DevState | undefined;
  #state: DevState;

  private constructor(path: string, state: DevState, leftover: DevState | undefined) {
    this.path = path;
    this.leftover = leftover;
    this.#state = state;
  }

  /**
   * Makes the directory (0700) and takes it for this process.
   * @throws CommandError when another `davit dev` that lives has it
   */
  static take(path: string, instance: string): DevDirectory {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const state: DevState = { pid: process.pid, processStart: processStart(process.pid), instance, routes: [] };
    const leftover = createExclusively(path, state) ? undefined : takeOver(path, state);
    return new DevDirectory(path, state, leftover);
  }

  update(change: Partial<Omit<DevState, "pid" | "processStart">>): void {
    this.#state = { ...this.#state, ...change };
    const draft = join(this.path, `${FILE}.new`);
    writeFileSync(draft, text(this.#state), { mode: 0o600 });
    renameSync(draft, join(this.path, FILE));
  }

  /** Gives the directory up; the data stays. */
  release(): void {
    rmSync(join(this.path, FILE), { force: true });
  }
}

/** The state of the `davit dev` that runs over a directory; `undefined` when none does. */
export function readDevState(path: string): DevState | undefined {
  const state = read(path);
  return state !== undefined && isAlive(state) ? state : undefined;
}

function createExclusively(path: string, state: DevState): boolean {
  try {
    const file = openSync(join(path, FILE), "wx", 0o600);
    writeFileSync(file, text(state));
    closeSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function takeOver(path: string, state: DevState): DevState | undefined {
  const before = read(path);
  if (before !== undefined && isAlive(before)) {
    throw new CommandError(
      `another davit dev (pid ${before.pid}) uses ${path}: stop it, or choose another directory with --data-dir`,
    );
  }
  // Kept, with our pid, until the new state is complete: if we are killed now, the next one still finds the Redis left behind.
  rmSync(join(path, FILE), { force: true });
  const redis = before?.redis;
  if (createExclusively(path, redis === undefined ? state : { ...state, redis })) return before;
  throw new CommandError(`another davit dev has just started over ${path}`);
}

function read(path: string): DevState | undefined {
  try {
    return JSON.parse(readFileSync(join(path, FILE), "utf8")) as DevState;
  } catch {
    // Absent, or cut off by a kill while it was first written: either way nobody runs there.
    return undefined;
  }
}

function text(state: DevState): string {
  return `${JSON.stringify(state, undefined, 2)}\n`;
}

function isAlive({ pid, processStart: started }: DevState): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives, but is somebody else's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const now = processStart(pid);
  return now === "" || started === "" || now === started;
}

/** Field 22 of `/proc/PID/stat` (proc(5)): the name in field 2 may hold spaces, so fields are counted from its closing parenthesis. */
function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
