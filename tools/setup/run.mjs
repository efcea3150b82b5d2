import { spawn } from "node:child_process";
import { constants } from "node:os";

const FORWARDED = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/**
 * Runs a command on our own stdin, stdout and stderr, hands SIGINT, SIGTERM and SIGHUP on to it, and waits for its end.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<number>} its exit code; 128 + number when a signal ended it; 127 when it could not be started
 */
export function runToEnd(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: "inherit" });
  for (const signal of FORWARDED) {
    // A terminal sends Ctrl-C to the whole foreground group, so the child has it already.
    process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)));
  }
  return new Promise((resolve) => {
    child.once("error", (error) => {
      process.stderr.write(`setup: cannot run ${command}: ${error.message}\n`);
      resolve(127);
    });
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
