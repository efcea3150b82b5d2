import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";

// Reads lines, each with all process groups that live; when the pipe closes, whoever held it is gone, and so shall they be.
const SCRIPT = `trap '' INT TERM HUP
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
for attempt in 1 2 3 4 5; do rm -rf -- "$1" && break; sleep 0.2; done`;

/**
 * Ends process groups and removes a folder when this process ends, however it does: also by SIGKILL, which no handler sees.
 */
export class Watchdog {
  readonly #child: ChildProcess;
  readonly #input: Writable;

  /** @param dir folder to remove at the end */
  constructor(dir: string) {
    const child = spawn("sh", ["-c", SCRIPT, "sh", dir], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    child.unref();
    child.stdin.on("error", () => {});
    (child.stdin as unknown as { unref?: () => void }).unref?.();
    this.#child = child;
    this.#input = child.stdin;
  }

  /** Replaces the list of groups to end. */
  guard(groups: readonly number[]): void {
    this.#input.write(`${groups.join(" ")}\n`);
  }

  /** Nothing is left to end: removes the folder now and waits for that. */
  async release(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.ref();
    this.#input.end("\n");
    if (this.#child.exitCode === null) await ended;
  }
}
