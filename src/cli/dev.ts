import { type Command, parse, UsageError, wholeNumber } from "./command.ts";
import { type DevOptions, runDev } from "./dev/run.ts";
import { parseDuration } from "../lib/duration.ts";
import { CLAIM_HOLD_MS } from "../routes/claims.ts";

const PORTS = [0, 65_535] as const;

const USAGE = `davit dev -f FILE|DIR [-f …] [flags]

Runs gateway, workers and a Redis of its own over WebhookRoutes and Secrets in files, until Ctrl-C. A saved file takes effect at once.

  -f, --file FILE|DIR    manifests; may be repeated
  --port PORT            of the gateway; default 8080 (0: any free one)
  --admin-port PORT      of /metrics, /livez and /readyz; default 9090
  --api-port PORT        where events are published, with the token in dev.json of the data directory; default 8081
  --destination-port PORT  of the API for whoever has a token of a WebhookDestination (spec.access); default none
  --console-port PORT    of the operations API, with another token in dev.json; default 8082
  --service NS/NAME=URL  where a serviceRef really is; default http://127.0.0.1:<its port>; may be repeated
  --claim-hold DURATION  how long the host and path of a route that went are held for its namespace, as in a cluster; default 24h
  --data-dir DIR         data kept between runs; default .davit
  --redis-url URL        another Redis instead of the embedded one
  --instance NAME        serve the routes of this spec.instance; default "default"
  --demo                 send the demonstration's events first; its receiver takes the place of every destination
  --once                 run the demonstration and end: exit code 0 if every step ended as it should.
                         Takes free ports and a temporary directory unless given others
  --json                 print the demonstration's counts as one JSON line, and nothing else, to stdout
  --log-format text|json log lines on stderr; default text
`;

const OPTIONS = {
  file: { type: "string", short: "f", multiple: true },
  port: { type: "string" },
  "admin-port": { type: "string" },
  "api-port": { type: "string" },
  "console-port": { type: "string" },
  "destination-port": { type: "string" },
  service: { type: "string", multiple: true },
  "claim-hold": { type: "string" },
  "data-dir": { type: "string" },
  "redis-url": { type: "string" },
  instance: { type: "string", default: "default" },
  demo: { type: "boolean", default: false },
  once: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  "log-format": { type: "string", default: "text" },
} as const;

const TO_STAY = { port: "8080", adminPort: "9090", apiPort: "8081", consolePort: "8082", dataDir: ".davit" };
const BY_ITSELF = { port: "0", adminPort: "0", apiPort: "0", consolePort: "0", dataDir: undefined };

/** Time for the last output to be written, ms. */
const LINGER_MS = 1_000;

/** `davit dev`: the whole chain on one machine. */
export const command: Command = {
  name: "dev",
  summary: "run the whole chain on this machine over manifests in files",
  usage: USAGE,
  async run(argv, io) {
    const code = await runDev(devOptions(argv), io);
    // Clients of a Redis that is gone go on trying for ever: whatever still holds the process then, it is over.
    setTimeout(() => process.exit(code), LINGER_MS).unref();
    return code;
  },
};

/** @throws UsageError */
export function devOptions(argv: string[]): DevOptions {
  const { values } = parse(argv, OPTIONS);
  const { once, file } = values;
  if (file === undefined) throw new UsageError("name the manifests with -f FILE or -f DIR");
  // A demonstration that ends by itself disturbs neither a dev that runs nor whatever else holds the usual ports.
  const usual = once ? BY_ITSELF : TO_STAY;
  return {
    files: file,
    instance: values.instance,
    port: wholeNumber("--port", values.port ?? usual.port, PORTS),
    adminPort: wholeNumber("--admin-port", values["admin-port"] ?? usual.adminPort, PORTS),
    apiPort: wholeNumber("--api-port", values["api-port"] ?? usual.apiPort, PORTS),
    consolePort: wholeNumber("--console-port", values["console-port"] ?? usual.consolePort, PORTS),
    destinationPort: optionalPort("--destination-port", values["destination-port"]),
    services: new Map((values.service ?? []).map(parseService)),
    claimHoldMs: claimHold(values["claim-hold"]),
    dataDir: values["data-dir"] ?? usual.dataDir,
    redisUrl: values["redis-url"],
    demonstration: once || values.demo,
    once,
    json: values.json,
    jsonLogs: isJson(values["log-format"]),
  };
}

function optionalPort(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : wholeNumber(flag, text, PORTS);
}

function claimHold(text: string | undefined): number {
  if (text === undefined) return CLAIM_HOLD_MS;
  try {
    return parseDuration(text);
  } catch (error) {
    throw new UsageError(`--claim-hold: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isJson(format: string): boolean {
  if (format === "json" || format === "text") return format === "json";
  throw new UsageError(`--log-format: "${format}" is not known; use text or json`);
}

function parseService(text: string): [name: string, url: string] {
  const [, name, url] = /^([^/=]+\/[^/=]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || url === undefined) {
    throw new UsageError(`--service: "${text}" is not NAMESPACE/NAME=URL`);
  }
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new UsageError(`--service: "${url}" is not an http or https URL`);
  }
  return [name, url];
}
