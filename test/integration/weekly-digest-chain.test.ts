import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { fieldOf } from "../../src/lib/record.ts";
import { listen, portOf } from "../../src/lib/listen.ts";
import { endDev, type Dev, waitFor, Workspace } from "../support/dev-process.ts";
import { keptEvents } from "../support/kept-events.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/weekly-digest/", import.meta.url));
const DESTINATIONS = 200;
/** The one that answers 429 and asks for a minute. */
const BUSY = 77;
const RETRY_AFTER_S = 60;

/** The endpoint of one customer. */
interface Receiver {
  readonly id: string;
  readonly url: string;
  /** Week of each digest that it took. */
  readonly weeks: string[];
  refusals: number;
}

interface Job {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
}

/** The example as it stands, over `davit dev`, with 200 customers whose endpoints are on loopback. */
describe("the weekly digest over the whole chain", () => {
  const workspace = new Workspace();
  const servers: Server[] = [];
  const receivers: Receiver[] = [];
  let dev: Dev | undefined;
  let store: RedisStore | undefined;
  let isBusy = false;
  const files = { all: join(workspace.dir, "all.json"), others: join(workspace.dir, "others.json") };

  async function receiver(n: number): Promise<Receiver> {
    const server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      request.on("end", () => {
        if (isBusy && n === BUSY) {
          made.refusals += 1;
          response.writeHead(429, { "retry-after": String(RETRY_AFTER_S) }).end();
          return;
        }
        made.weeks.push(String(fieldOf(fieldOf(JSON.parse(body), "data"), "week")));
        response.writeHead(200).end();
      });
    });
    await listen(server, { port: 0, address: "127.0.0.1", remedy: "" });
    servers.push(server);
    const made: Receiver = { id: `customer ${n}`, url: `http://127.0.0.1:${portOf(server)}/`, weeks: [], refusals: 0 };
    return made;
  }

  beforeAll(async () => {
    for (let n = 0; n < DESTINATIONS; n += 1) receivers.push(await receiver(n));
    const customers = receivers.map(({ id, url }, n) => ({ id, url, orders: n }));
    writeFileSync(files.all, JSON.stringify(customers));
    writeFileSync(files.others, JSON.stringify(customers.filter((_, n) => n !== BUSY)));
    const generated = await promisify(execFile)(process.execPath, [`${EXAMPLE}destinations.mjs`, files.all]);
    const names = [...generated.stdout.matchAll(/key: (\S+) }/g)].map(([, name]) => name ?? "");
    const secret = (name: string, data: Record<string, string>) =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name, namespace: "digest", labels: { "davit.dev/use": "true" } },
        stringData: data,
      });
    workspace.write(
      [
        readFileSync(`${EXAMPLE}route.yaml`, "utf8"),
        generated.stdout,
        secret("weekly-digest-closed", { secret: "nobody has it" }),
        secret("weekly-digest-signing", Object.fromEntries(names.map((name) => [name, `whsec_${btoa(name)}`]))),
      ].join("\n---\n"),
    );
    dev = await workspace.dev();
    const { api, redis } = workspace.state();
    writeFileSync(join(workspace.dir, "token"), api?.token ?? "");
    store = new RedisStore({ url: redis?.url ?? "" });
    await store.start();
  });
  afterAll(async () => {
    store?.close();
    if (dev !== undefined) await endDev(dev);
    await workspace.remove();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  });

  /** Runs the job for a week. */
  function start(customers: string, week: string, atOnce = 500): Job {
    const env = {
      ...process.env,
      DAVIT_API: workspace.state().api?.url ?? "",
      DAVIT_ROUTE: "digest/weekly-digest",
      DAVIT_TOKEN_FILE: join(workspace.dir, "token"),
      DAVIT_AT_ONCE: String(atOnce),
    };
    const child = spawn(process.execPath, [`${EXAMPLE}digest.mjs`, customers, week], { env });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });
    return { child, ended, output: () => text };
  }

  /** Runs the jobs of several weeks until everyone else has all of them. @returns ms */
  async function deliver(customers: string, weeks: readonly string[]): Promise<number> {
    const began = performance.now();
    const jobs = weeks.map((week) => start(customers, week));
    const others = receivers.filter((_, n) => n !== BUSY);
    const hasAll = ({ weeks: got }: Receiver) => weeks.every((week) => got.includes(week));
    await waitFor("the digests of all others", () => others.every(hasAll));
    const took = performance.now() - began;
    expect(await Promise.all(jobs.map(({ ended }) => ended))).toEqual(weeks.map(() => 0));
    return took;
  }

  const week = (n: number) => `2026-W${String(n).padStart(2, "0")}`;
  const ledger = () => (store as RedisStore).ledger({ instance: "default", namespace: "digest" });
  const busy = () => receivers[BUSY] as Receiver;

  it("delivers to 199 customers while one answers 429 and has its copies parked", async () => {
    await deliver(files.all, [week(1)]);
    const alone = await deliver(files.others, [2, 3, 4, 5].map(week));
    isBusy = true;
    const beside = await deliver(files.all, [6, 7, 8, 9].map(week));
    // For people: what noise of the machine adds to either is not Davit's.
    console.log(`199 of 200 destinations: ${(beside / alone).toFixed(2)} × their time alone`);
    // All others have everything; the busy one was asked once, and what is for it waits as it asked.
    expect(busy()).toMatchObject({ weeks: [week(1)], refusals: 1 });
    const destination = `~${encodeURIComponent(busy().id)}`;
    expect(await ledger().gate(destination)).toMatchObject({ state: "Held", reason: "RetryAfter" });
    const stats = await ledger().stats([destination]);
    expect(stats.get(destination)).toMatchObject({ waiting: 3, delayed: 1, active: 0, dead: 0 });
    isBusy = false;
    await ledger().enable(destination);
    await waitFor("what was never sent", () => busy().weeks.length === 4);
  });

  it("sends each customer one digest when the job is killed half-way and run again", async () => {
    isBusy = false;
    const first = start(files.all, week(20), 20);
    await waitFor("half of it", () => first.output().includes("events 81 to 100"));
    first.child.kill("SIGKILL");
    await first.ended;
    expect(first.output()).not.toContain("events 181 to 200");
    const second = start(files.all, week(20), 20);
    expect([await second.ended, second.output()]).toEqual([0, expect.not.stringContaining("Error")]);
    expect(second.output()).toContain("events 81 to 100: 0 accepted, 20 were there already");
    await waitFor("all", () => receivers.every(({ weeks }) => weeks.includes(week(20))));
    const digests = receivers.map(({ weeks }) => weeks.filter((one) => one === week(20)).length);
    expect(new Set(digests)).toEqual(new Set([1]));
    const { route = "" } = workspace.state().routes[0] ?? {};
    const events = await keptEvents(
      (store as RedisStore).operations({ instance: "default", namespace: "digest" }),
      route,
    );
    expect(events).toHaveLength(200 + 4 * 199 + 4 * 200 + 200);
    expect(events.every(({ duplicates }) => duplicates <= 1)).toBe(true);
  });
});
