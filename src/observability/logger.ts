import { pino, type DestinationStream, type Logger } from "pino";

export type { Logger } from "pino";

/** Names whose values never reach a log line, wherever they stand. */
const REDACTED = ["authorization", "secret", "password", "token", "body", "cookie"];

/**
 * The process's logger: JSON to stdout, one line per decision, in words an on-call engineer can act on.
 * Level by `DAVIT_LOG_LEVEL` (default `info`); deliveries that simply succeed are `debug`.
 */
export function createLogger(
  role: string,
  options: { readonly level?: string; readonly destination?: DestinationStream } = {},
): Logger {
  const settings = {
    level: options.level ?? process.env["DAVIT_LOG_LEVEL"] ?? "info",
    base: { role },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" },
  };
  return options.destination ? pino(settings, options.destination) : pino(settings);
}

/** A logger that says nothing, for tests and embedded use. */
export const silentLogger: Logger = pino({ level: "silent" });
