import type { Output } from "../command.ts";
import { styleFor } from "../style.ts";

interface LogRecord {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
  readonly namespace?: string;
  readonly route?: string;
  readonly event?: string;
  readonly err?: { readonly message?: string };
}

const WARN = 40;
const ERROR = 50;

/**
 * A destination for the logger that turns its JSON into a line for people: `13:03:20.123 default/github destination … returned 503; …`.
 */
export function logLines(output: Output): { write(line: string): void } {
  const style = styleFor(output);
  return {
    write: (line) => {
      const record = JSON.parse(line) as LogRecord;
      const { level, msg = "", err } = record;
      const text = err?.message === undefined ? msg : `${msg}: ${err.message}`;
      const paint = level >= ERROR ? style.red : level >= WARN ? style.yellow : (plain: string) => plain;
      const event = record.event === undefined ? "" : style.dim(`  [${record.event}]`);
      output.write(`${style.dim(record.time.slice(11, 23))} ${style.dim(routeOf(record))}${paint(text)}${event}\n`);
    },
  };
}

function routeOf({ namespace, route }: LogRecord): string {
  return route === undefined ? "" : `${namespace ?? ""}/${route}  `;
}
