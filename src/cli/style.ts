import type { Output } from "./command.ts";

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

/** Marks a text for people: bold, dim, red, green, yellow. */
export type Style = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

/** Colours on a terminal only, and not with `NO_COLOR` set to anything (https://no-color.org). */
export function styleFor(output: Output, env: NodeJS.ProcessEnv = process.env): Style {
  const coloured = output.isTTY === true && !env["NO_COLOR"];
  const mark = (code: number) => (text: string) => (coloured && text !== "" ? `\u001b[${code}m${text}\u001b[0m` : text);
  return {
    bold: mark(CODES.bold),
    dim: mark(CODES.dim),
    red: mark(CODES.red),
    green: mark(CODES.green),
    yellow: mark(CODES.yellow),
  };
}
