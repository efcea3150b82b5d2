import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { ChildSettings } from "./settings.ts";

/** A process of the bench: it sends one message when it is ready, then answers each message with one. */
export interface Child<Ready> {
  readonly ready: Ready;
  ask<Answer>(message: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Starts a file of this folder in a process of its own, on the same Node, as it would run in production.
 * Its log lines go nowhere, its errors to our stderr. Rejects when it ends before it is ready.
 */
export async function startChild<Ready>(file: string, settings: ChildSettings): Promise<Child<Ready>> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(settings)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  const next = <T>() =>
    new Promise<T>((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`${file} ended early with exit code ${code}`));
      child.once("exit", onExit);
      child.once("message", (message) => {
        child.off("exit", onExit);
        resolve(message as T);
      });
    });
  const ready = await next<Ready>();
  return {
    ready,
    ask: <Answer>(message: unknown) => {
      const answer = next<Answer>();
      child.send(message as object);
      return answer;
    },
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once("exit", () => resolve());
        child.kill("SIGKILL");
      }),
  };
}

/** The child's side: says that it is ready, and answers each message by `handle`. */
export function serve(ready: unknown, handle: (message: never) => Promise<unknown>): void {
  process.on("message", (message) => {
    handle(message as never).then(
      (answer) => process.send?.(answer),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.send?.(ready);
}
