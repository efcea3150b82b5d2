import { parseArgs, type ParseArgsConfig } from "node:util";

/** Where a command writes: results to `stdout`, everything else to `stderr`. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
}

/** As much of a stream as commands use. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** One subcommand of `davit`, the export `command` of its file. */
export interface Command {
  readonly name: string;
  /** One line for `davit --help`. */
  readonly summary: string;
  /** Shown by `davit NAME --help` and on wrong use. */
  readonly usage: string;
  /**
   * Runs to its end.
   * @returns the exit code: 0 done, 1 not done or not found, 2 wrong use
   */
  run(argv: string[], io: Io): Promise<number>;
}

/** Wrong use of a command: exit code 2, with its usage. The message names the flag and the remedy. */
export class UsageError extends Error {
  readonly code = "Usage";
}

/** Something the user can put right: one line, exit code 1. */
export class CommandError extends Error {
  readonly code = "Command";
}

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<T extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: T; strict: true; allowPositionals: true }>
>;

/**
 * Parses flags and at most `positionals` further arguments.
 * @throws UsageError
 */
export function parse<const T extends Options>(
  argv: string[],
  options: T,
  positionals = 0,
): Pick<Parsed<T>, "values" | "positionals"> {
  let parsed: Parsed<T>;
  try {
    parsed = parseArgs({ args: argv, options, strict: true, allowPositionals: true });
  } catch (error) {
    // parseArgs explains how to pass a positional that looks like a flag after its first sentence; that is noise here.
    throw new UsageError(error instanceof Error ? (error.message.split(". ", 1)[0] ?? "") : String(error));
  }
  const extra = parsed.positionals[positionals];
  if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"`);
  return parsed;
}

/**
 * Reads a whole number within bounds from a flag.
 * @throws UsageError that names the flag
 */
export function wholeNumber(flag: string, text: string, [min, max]: readonly [number, number]): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`${flag}: "${text}" is not a whole number from ${min} to ${max}`);
}

/** The format of `-o`: a table or JSON. */
export function outputFormat(text: string | undefined): "table" | "json" {
  if (text === undefined || text === "table") return "table";
  if (text === "json") return "json";
  throw new UsageError(`-o: "${text}" is not known; use table or json`);
}

/** Prints a value as JSON, indented. */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** How this program is called from where it was started, for ready lines to copy. */
export function invocation(): string {
  return import.meta.filename.endsWith(".ts") ? "npm run -s davit --" : "davit";
}
