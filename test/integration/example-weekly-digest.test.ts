import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { parseManifests } from "../../src/api/manifests.ts";
import { publishingInto } from "../../src/gateway/api/publish.ts";
import { ClusterAccess } from "../../src/kube/access.ts";
import { routeEntry } from "../../src/gateway/testing.ts";
import type { ResourceAttributes } from "../../src/kube/access-review.ts";
import { listen, portOf } from "../../src/lib/listen.ts";
import { renderChart } from "../support/chart.ts";
import type { KubeObject } from "../support/control-plane/client.ts";
import { waitFor } from "../support/dev-process.ts";
import { type Publishing, startPublishing, TOKEN } from "../support/publishing.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { keptEvents } from "../support/kept-events.ts";

const DIR = fileURLToPath(new URL("../../examples/weekly-digest/", import.meta.url));
const ROUTE = "00000000000000dd";
const WEEK = "2026-W49";

const manifests = (file: string) =>
  parseAllDocuments(readFileSync(DIR + file, "utf8")).map((each) => each.toJS() as KubeObject);

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
}

describe("the weekly digest", () => {
  const dir = mkdtempSync(join(tmpdir(), "davit-digest-"));
  let redis: TestRedis;
  let gateway: Publishing;
  const customers = (count: number, change = (_n: number): object => ({})) =>
    Array.from({ length: count }, (_, n) => ({ id: `c-${n}`, orders: n, ...change(n) }));

  beforeAll(async () => {
    redis = await startRedis();
    gateway = await startPublishing(redis, [
      routeEntry({
        namespace: "digest",
        name: "weekly-digest",
        route: ROUTE,
        retention: { deliveredMs: 86_400_000, deadLettersMs: 86_400_000, maxEvents: 10_000, keepBodies: false },
      }),
    ]);
    writeFileSync(join(dir, "token"), `${TOKEN}\n`);
  });
  beforeEach(async () => {
    await redis.client().flushall();
  });
  afterAll(async () => {
    await gateway.close();
    await redis.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const start = (list: readonly object[], api = gateway.url): Run => {
    const file = join(dir, "customers.json");
    writeFileSync(file, JSON.stringify(list));
    const env = {
      ...process.env,
      DAVIT_API: api,
      DAVIT_ROUTE: "digest/weekly-digest",
      DAVIT_TOKEN_FILE: join(dir, "token"),
    };
    const child = spawn(process.execPath, [`${DIR}digest.mjs`, file, WEEK], { env, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });
    return { child, ended, output: () => text };
  };
  const kept = () => keptEvents(gateway.operations, ROUTE);

  it("enqueues no second copy when it is killed half-way and run again", async () => {
    const first = start(customers(5_000));
    await waitFor("half of it", () => first.output().includes("events 1001 to 1500"));
    first.child.kill("SIGKILL");
    await first.ended;
    const before = (await kept()).length;
    expect(before).toBeGreaterThanOrEqual(1_500);
    expect(before).toBeLessThan(5_000);
    const second = start(customers(5_000));
    expect([await second.ended, second.output()]).toEqual([0, expect.not.stringContaining("Error")]);
    expect(await kept()).toHaveLength(5_000);
    expect(second.output()).toContain(`${WEEK}, events 1 to 500: 0 accepted, 500 were there already`);
    const third = start(customers(5_000));
    expect(await third.ended).toBe(0);
    expect(await kept()).toHaveLength(5_000);
  });

  it("says which events were refused, sends the others, and fails", async () => {
    await start(customers(3)).ended;
    const run = start(customers(4, (n) => (n === 1 ? { orders: "changed" } : {})));
    expect(await run.ended).toBe(1);
    expect(run.output()).toContain(`weekly-digest/${WEEK}/c-1: IdReused`);
    expect(await kept()).toHaveLength(4);
  });

  it("comes again as it is told while it is turned away", async () => {
    const answers = [429, 503, 408];
    const server = createServer((request, response) => {
      request.resume();
      const status = answers.shift();
      if (status === undefined) response.writeHead(200).end('{"accepted":1,"duplicates":0,"results":[{}]}');
      else response.writeHead(status, { "retry-after": "0.01" }).end('{"error":"TooManyInFlight","message":"wait"}');
    });
    await listen(server, { port: 0, address: "127.0.0.1", remedy: "" });
    const run = start(customers(1), `http://127.0.0.1:${portOf(server)}`);
    expect(await run.ended).toBe(0);
    expect(answers).toEqual([]);
    server.close();
    server.closeAllConnections();
  });

  it("gives up at once where coming again does not help", async () => {
    writeFileSync(join(dir, "token"), "wrong");
    const run = start(customers(1));
    expect(await run.ended).not.toBe(0);
    expect(run.output()).toContain("401 TokenRefused");
    writeFileSync(join(dir, "token"), TOKEN);
  });
});

describe("the manifests of the weekly digest", () => {
  it("hold a route and the destinations that destinations.mjs makes, which nothing refuses", () => {
    const generated = execFileSync(process.execPath, [`${DIR}destinations.mjs`, `${DIR}customers.json`]).toString();
    expect(readFileSync(`${DIR}destinations.yaml`, "utf8")).toBe(generated);
    const sources = ["route.yaml", "destinations.yaml"].map((file) => ({
      file,
      text: readFileSync(DIR + file, "utf8"),
    }));
    const { routes, destinations, problems } = parseManifests(sources);
    expect(problems.filter(({ problem }) => problem.severity === "error")).toEqual([]);
    expect(routes).toMatchObject([{ namespace: "digest", name: "weekly-digest" }]);
    const { matchLabels, idFrom } = routes[0]?.spec.destinationSelector ?? {};
    expect(idFrom).toBe("json:/data/customer");
    const customers = JSON.parse(readFileSync(`${DIR}customers.json`, "utf8")) as { id: string }[];
    expect(destinations.map(({ spec }) => spec.id)).toEqual(customers.map(({ id }) => id));
    for (const { destination } of destinations) expect(destination.metadata.labels).toMatchObject(matchLabels ?? {});
  });

  it("give the job exactly the right that the gateway asks about", async () => {
    const role = manifests("job.yaml").find(({ kind }) => kind === "Role");
    const asked: ResourceAttributes[] = [];
    const access = new ClusterAccess({
      authenticate: async () => ({ username: "a", groups: [] }),
      isAllowed: async (_user, attributes) => asked.push(attributes) > 0,
    });
    await (await access.caller("t"))?.may(publishingInto("digest", "weekly-digest"));
    expect(asked).toEqual([
      {
        verb: "create",
        group: "davit.dev",
        resource: "webhookroutes",
        subresource: "events",
        namespace: "digest",
        name: "weekly-digest",
      },
    ]);
    expect(role).toMatchObject({
      metadata: { namespace: "digest" },
      rules: [
        {
          apiGroups: ["davit.dev"],
          resources: ["webhookroutes/events"],
          resourceNames: ["weekly-digest"],
          verbs: ["create"],
        },
      ],
    });
  });

  it("call the Service and the audience of a release with the chart's defaults", async () => {
    const objects = await renderChart();
    const service = objects.find(({ metadata }) => metadata.name === "davit-gateway-api") as KubeObject;
    const job = manifests("job.yaml").find(({ kind }) => kind === "CronJob") as KubeObject;
    const { template } = job["spec"].jobTemplate.spec;
    const [{ env }] = template.spec.containers;
    const { namespace } = service.metadata;
    const [{ port }] = service["spec"].ports;
    expect(env).toContainEqual({ name: "DAVIT_API", value: `http://davit-gateway-api.${namespace}:${port}` });
    const config = objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "davit-gateway");
    const token = template.spec.volumes.find(({ name }: { name: string }) => name === "token");
    expect(config?.["data"]["davit.yaml"]).toContain(
      `audience: "${token.projected.sources[0].serviceAccountToken.audience}"`,
    );
  });
});
