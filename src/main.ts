#!/usr/bin/env node
import { nearest } from "./lib/nearest.ts";
import { type Command, type Io, UsageError } from "./cli/command.ts";

/** Every subcommand, loaded when it is needed: the gateway must not pay for what another role imports. */
const COMMANDS: ReadonlyMap<string, () => Promise<{ readonly command: Command }>> = new Map([
  ["dev", () => import("./cli/dev.ts")],
  ["controller", () => import("./cli/controller.ts")],
  ["gateway", () => import("./cli/gateway.ts")],
  ["worker", () => import("./cli/worker.ts")],
  ["cleaner", () => import("./cli/cleaner.ts")],
  ["console", () => import("./cli/console.ts")],
  ["send", () => import("./cli/send.ts")],
  ["verify", () => import("./cli/verify.ts")],
  ["trace", () => import("./cli/trace.ts")],
  ["events", () => import("./cli/events.ts")],
  ["deadletters", () => import("./cli/deadletters.ts")],
  ["replay", () => import("./cli/replay.ts")],
  ["destinations", () => import("./cli/destinations.ts")],
  ["discard", () => import("./cli/discard.ts")],
  ["cancel", () => import("./cli/cancel.ts")],
  ["handshakes", () => import("./cli/handshakes.ts")],
  ["orphans", () => import("./cli/orphans.ts")],
  ["cleanup", () => import("./cli/cleanup.ts")],
  ["validate", () => import("./cli/validate.ts")],
  ["providers", () => import("./cli/providers.ts")],
  ["crds", () => import("./cli/crds.ts")],
  ["version", () => import("./cli/version.ts")],
]);

const HELP = new Set(["help", "--help", "-h"]);

async function help(io: Io): Promise<number> {
  const commands = await Promise.all([...COMMANDS.values()].map(async (load) => (await load()).command));
  const width = Math.max(...commands.map(({ name }) => name.length)) + 2;
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`);
  io.stdout.write(
    `davit: receive webhooks, verify, keep and deliver them\n\nusage: davit COMMAND [flags]\n\n${lines.join("\n")}\n\ndavit COMMAND --help says more\n`,
  );
  return 0;
}

async function run(argv: readonly string[], io: Io): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined) {
    await help(io);
    return 2;
  }
  if (HELP.has(name)) return help(io);
  const load = COMMANDS.get(name === "--version" ? "version" : name);
  if (load === undefined) {
    const meant = nearest(name, [...COMMANDS.keys()]);
    const hint = meant === undefined ? "davit --help lists all commands" : `did you mean ${meant}?`;
    io.stderr.write(`davit: unknown command "${name}"; ${hint}\n`);
    return 2;
  }
  return runCommand((await load()).command, args, io);
}

async function runCommand(command: Command, args: string[], io: Io): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout.write(`${command.usage.trimEnd()}\n`);
    return 0;
  }
  try {
    return await command.run(args, io);
  } catch (error) {
    return explain(command, error, io);
  }
}

/** One line; the stack only when asked for. */
function explain(command: Command, error: unknown, io: Io): number {
  const message = error instanceof Error ? error.message : String(error);
  io.stderr.write(`davit ${command.name}: ${message}\n`);
  if (process.env["DAVIT_DEBUG"] && error instanceof Error) io.stderr.write(`${error.stack ?? ""}\n`);
  if (!(error instanceof UsageError)) return 1;
  io.stderr.write(`\nusage: ${command.usage.trimEnd()}\n`);
  return 2;
}

// `davit events | head` closes the pipe: no reason to say anything.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

process.exitCode = await run(process.argv.slice(2), process);
