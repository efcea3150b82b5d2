import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedRedis } from "../../custody/redis/embedded.ts";
import { endLeftoverRedis } from "../../custody/redis/leftover.ts";
import { createLogger } from "../../observability/logger.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { Io, Output } from "../command.ts";
import { Chain } from "./chain.ts";
import type { ServiceOverrides } from "./compilation.ts";
import type { DevDestination } from "./destinations.ts";
import { demonstrate } from "./demonstration.ts";
import { LiveRoutes } from "./live-routes.ts";
import { logLines } from "./log-lines.ts";
import { Receiver, redirected, redirectedShared } from "./receiver.ts";
import { demonstrationText, howToPost, upText } from "./texts.ts";
import { DevDirectory } from "./state.ts";
import { Secret } from "../../lib/secret.ts";
import { stopSignals } from "../../lib/stop-signals.ts";

export interface DevOptions {
  readonly files: readonly string[];
  readonly instance: string;
  readonly port: number;
  readonly adminPort: number;
  readonly apiPort: number;
  readonly consolePort: number;
  /** `undefined`: no listener for holders of tokens of WebhookDestinations. */
  readonly destinationPort: number | undefined;
  readonly services: ServiceOverrides;
  /** How long the place of a route that went is held for its namespace, ms. */
  readonly claimHoldMs: number;
  /** `undefined`: a temporary one, removed at the end. */
  readonly dataDir: string | undefined;
  /** `undefined`: an embedded Redis. */
  readonly redisUrl: string | undefined;
  /** Run the demonstration, its receiver in place of every destination. */
  readonly demonstration: boolean;
  /** End after the demonstration. */
  readonly once: boolean;
  readonly json: boolean;
  readonly jsonLogs: boolean;
}

const REDIS_LOST =
  "Redis has ended by itself: ending too; what was accepted is on disk and goes on with the next start\n";

/** What was started, undone in reverse. */
type Undo = (() => unknown)[];

/**
 * The whole chain in one process until a signal ends it.
 * @returns exit code: 1 when manifests are refused or the demonstration ended otherwise than it should
 */
export async function runDev(options: DevOptions, io: Io): Promise<number> {
  const undo: Undo = [];
  try {
    const signals = stopSignals();
    undo.push(() => signals.release());
    const lost = new AbortController();
    lost.signal.addEventListener("abort", () => io.stderr.write(REDIS_LOST));
    const stop = AbortSignal.any([signals.signal, lost.signal]);
    const code = await run(options, { io, undo, stop, lost });
    return lost.signal.aborted ? 1 : code;
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}

interface Surroundings {
  readonly io: Io;
  readonly undo: Undo;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, and by {@link lost}. */
  readonly stop: AbortSignal;
  /** Aborted when the embedded Redis ended by itself. */
  readonly lost: AbortController;
}

/** The chain, once it serves. */
interface Running {
  readonly chain: Chain;
  readonly live: LiveRoutes;
  readonly receiver: Receiver | undefined;
  /** As they are served. */
  readonly entries: readonly RouteEntry[];
}

async function run(options: DevOptions, surroundings: Surroundings): Promise<number> {
  const { io, stop } = surroundings;
  const running = await start(options, surroundings);
  if (running === undefined) return 1;
  const { chain, live, receiver, entries } = running;
  const out = humanOutput(options, io);
  const code = receiver === undefined ? 0 : await show(options, { ...running, receiver }, surroundings);
  if (options.once || stop.aborted) return code;
  live.watch();
  const { dataDir } = options;
  out.write(howToPost({ gateway: chain.urls.gateway, entries, demonstration: receiver !== undefined, dataDir }));
  if (!stop.aborted) await once(stop, "abort");
  out.write("stopping: finishing what is under way (again to end at once)\n");
  return 0;
}

/** @returns `undefined` when the manifests are refused, which has been told then */
async function start(options: DevOptions, surroundings: Surroundings): Promise<Running | undefined> {
  const { io, undo } = surroundings;
  const directory = await takeDirectory(options, undo);
  const receiver = options.demonstration ? await startReceiver(undo) : undefined;
  const served = (entries: readonly RouteEntry[]) =>
    receiver === undefined ? entries : entries.map((entry) => redirected(entry, receiver.url));
  const servedShared = (destinations: readonly DevDestination[]) =>
    receiver === undefined
      ? destinations
      : destinations.map((one) => ({ ...one, entry: redirectedShared(one.entry, one.namespace, receiver.url) }));
  let chain: Chain | undefined;
  const live = new LiveRoutes({
    paths: options.files,
    dir: directory.path,
    instance: options.instance,
    services: options.services,
    claimHoldMs: options.claimHoldMs,
    say: (line) => io.stderr.write(`${line}\n`),
    shelve: async (entries, removed) => {
      if (chain === undefined) return { active: new Set(removed.keys()), byRoute: new Map(), lines: [] };
      return chain.shelve(entries, removed);
    },
    serve: async ({ entries, destinations, policies, secrets, conflicts }) => {
      await chain?.cleanup(policies, secrets);
      await chain?.apply(served(entries), servedShared(destinations));
      directory.update({ ...namesOf(entries, destinations), conflicts });
    },
  });
  const first = await live.compile();
  for (const line of [...first.errors, ...first.warnings]) io.stderr.write(`${line}\n`);
  if (first.errors.length > 0) return undefined;
  const redisUrl = options.redisUrl ?? (await startRedis(directory, surroundings));
  const logger = createLogger("dev", { destination: options.jsonLogs ? io.stderr : logLines(io.stderr) });
  const tokens = { api: newToken(), console: newToken() };
  const secrets = { apiToken: Secret.of(tokens.api), consoleToken: Secret.of(tokens.console) };
  chain = new Chain({ ...options, ...secrets, dir: directory.path, redisUrl, logger });
  undo.push(() => chain?.stop(surroundings.lost.signal));
  await chain.start();
  for (const [key, what] of await live.publish(first)) io.stderr.write(`${key} is gone from the manifests; ${what}\n`);
  undo.push(() => live.stop());
  const { api, console: operations, ...urls } = chain.urls;
  directory.update({
    ...urls,
    api: { url: api, token: tokens.api },
    console: { url: operations, token: tokens.console },
    ...(chain.destinationUrl !== undefined && { destinationApi: { url: chain.destinationUrl } }),
    ...(options.redisUrl !== undefined && { redis: { url: redisUrl } }),
  });
  const entries = served([...first.entries.values()]);
  const output = humanOutput(options, io);
  output.write(upText({ ...chain.urls, dataDir: directory.path, entries, output }));
  return { chain, live, receiver: receiver?.receiver, entries };
}

/** What other commands need to name what lies in custody. */
function namesOf(entries: readonly RouteEntry[], destinations: readonly DevDestination[]) {
  return {
    routes: entries.map(({ namespace, name, route, host, path }) => ({ namespace, name, route, host, path })),
    destinations: destinations.map(({ namespace, id, entry }) => ({
      namespace,
      name: entry.name,
      id,
      destination: entry.id,
    })),
  };
}

/** With `--json` the only thing on stdout is the JSON line. */
function humanOutput({ json }: DevOptions, io: Io): Output {
  return json ? io.stderr : io.stdout;
}

/** Runs the demonstration over the chain and prints its report. */
async function show(
  options: DevOptions,
  { chain, entries, receiver }: Running & { readonly receiver: Receiver },
  { io, stop, undo }: Surroundings,
): Promise<number> {
  const report = await demonstrate({
    entries,
    gateway: chain.urls.gateway,
    receiver,
    ledger: (namespace) => chain.ledger(namespace),
    signal: stop,
  });
  const out = humanOutput(options, io);
  out.write(demonstrationText(report, out));
  const json = () => io.stdout.write(`${JSON.stringify(report.counts)}\n`);
  // The last line of all, also where stdout and stderr are one: after what stopping has to say.
  if (options.json && options.once) undo.unshift(json);
  else if (options.json) json();
  return report.differences.length === 0 ? 0 : 1;
}

/** A new one with every start. */
function newToken(): string {
  return randomBytes(32).toString("base64url");
}

async function takeDirectory({ dataDir, instance }: DevOptions, undo: Undo): Promise<DevDirectory> {
  const path = dataDir ?? mkdtempSync(join(tmpdir(), "davit-"));
  if (dataDir === undefined) undo.push(() => rmSync(path, { recursive: true, force: true }));
  const directory = DevDirectory.take(path, instance);
  undo.push(() => directory.release());
  const left = directory.leftover?.redis;
  if (left?.pid !== undefined) await endLeftoverRedis(left.url, left.pid);
  return directory;
}

async function startReceiver(undo: Undo): Promise<{ readonly receiver: Receiver; readonly url: string }> {
  const receiver = new Receiver();
  const url = await receiver.start();
  undo.push(() => receiver.stop());
  return { receiver, url };
}

/** @returns its URL */
async function startRedis(directory: DevDirectory, { undo, lost }: Surroundings): Promise<string> {
  const redis = await startEmbeddedRedis(join(directory.path, "redis"));
  let isWanted = true;
  undo.push(() => {
    isWanted = false;
    return redis.stop();
  });
  void redis.exited.then(() => {
    if (isWanted) lost.abort();
    return undefined;
  });
  directory.update({ redis: { url: redis.url, pid: redis.pid } });
  return redis.url;
}
