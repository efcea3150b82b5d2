import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { davit, type Dev, endDev, isAlive, startDavit, waitFor, Workspace } from "../support/dev-process.ts";
import { heldPort } from "../support/held-port.ts";

let workspace: Workspace;
let target: Target;

beforeEach(async () => {
  workspace = new Workspace();
  target = await startTarget(await heldPort());
});
afterEach(async () => {
  await workspace.remove();
  target.stop();
});

/** A destination that answers as it is told. */
interface Target {
  readonly url: string;
  readonly port: number;
  status: number;
  /** Never answers while true. */
  hangs: boolean;
  readonly bodies: string[];
  stop(): void;
}

async function startTarget(port: number): Promise<Target> {
  const server: Server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      told.bodies.push(body);
      if (!told.hangs) response.writeHead(told.status).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : 0;
  const told: Target = {
    url: `http://127.0.0.1:${bound}/in`,
    port: bound,
    status: 200,
    hangs: false,
    bodies: [],
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return told;
}

const SECRET = "a-secret-of-the-tests";

/** A GitHub route to the target, and its Secret. */
function manifests(options: { secret?: string; path?: string; schedule?: string; port?: number } = {}): string {
  const { secret = SECRET, path = "/github", schedule = "[50ms, 50ms]", port = target.port } = options;
  return `
apiVersion: v1
kind: Secret
metadata: { name: github }
stringData: { secret: ${secret} }
---
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: github }
spec:
  exposure: { host: hooks.example.com, path: ${path} }
  verification: { provider: github }
  secretRefs: [{ name: github, key: secret }]
  destinations: [{ name: target, serviceRef: { name: target, port: ${port}, path: /in } }]
  delivery: { retry: { schedule: ${schedule} } }
`;
}

/** Posts as GitHub does. */
async function post(dev: Dev, options: { id: string; secret?: string; body?: string; path?: string }) {
  const { id, secret = SECRET, body = `{"id":"${id}"}`, path = "/github" } = options;
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const response = await fetch(dev.gateway + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "push",
      "x-github-delivery": id,
      "x-hub-signature-256": `sha256=${signature}`,
    },
    body,
  });
  const answer = (await response.json()) as { id?: string; replayed?: boolean; error?: string };
  return { status: response.status, ...answer };
}

/** The value of a series, by the start of its line. */
async function metric(dev: Dev, series: string): Promise<number> {
  const text = await (await fetch(`${dev.admin}/metrics`)).text();
  const line = text.split("\n").find((candidate) => candidate.startsWith(series));
  return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(" ") + 1));
}

const stateOf = (id: string) => workspace.stateOf(id);
const onData = () => ["--data-dir", workspace.data];

describe("davit dev", () => {
  it("receives, delivers, tells duplicates and refuses bad signatures, and each can be traced", async () => {
    workspace.write(manifests());
    const dev = await workspace.dev();
    const first = await post(dev, { id: "one" });
    expect(first).toMatchObject({ status: 202, replayed: false });
    expect(await post(dev, { id: "one" })).toMatchObject({ status: 202, replayed: true, id: first.id });
    expect(await post(dev, { id: "two", secret: "wrong" })).toMatchObject({ status: 401, error: "SignatureMismatch" });
    expect(await post(dev, { id: "three", path: "/%67ithub" })).toMatchObject({ status: 404 });
    await waitFor("the delivery", () => target.bodies.length > 0);
    await waitFor("its settling", async () => (await stateOf(first.id ?? "")) === "delivered");
    expect(target.bodies).toEqual(['{"id":"one"}']);

    const traced = await davit("trace", first.id ?? "", ...onData());
    expect(traced.stdout).toMatch(
      /accepted \(push\)[^]*duplicates: 1\n[^]*github\/target: delivered\n.*attempt 1 {2}answered 200/,
    );
    expect(traced.code).toBe(0);
    const never = await davit("trace", "01ARZ3NDEKTSV4RRFFQ69G5FAV", ...onData());
    expect(never).toMatchObject({ code: 1, stdout: expect.stringContaining("was never seen in default") as string });
    const rejected = JSON.parse((await davit("events", "--rejected", "-o", "json", ...onData())).stdout) as object[];
    expect(rejected).toEqual([expect.objectContaining({ status: 401, reason: "SignatureMismatch" })]);
    const hash = (rejected[0] as { bodySha256: string }).bodySha256;
    expect((await davit("trace", hash.slice(0, 12), ...onData())).stdout).toContain("refused with 401");
  });

  it("serves metrics, liveness and readiness on the admin port", async () => {
    target.status = 503;
    workspace.write(manifests({ schedule: "[1h]" }));
    const dev = await workspace.dev();
    const text = async (path: string) => (await fetch(dev.admin + path)).text();
    expect(await text("/livez")).toBe("ok\n");
    expect(await text("/readyz")).toBe("ok\n");
    const waiting = 'davit_queue_events{namespace="default",route="github",state="delayed"}';
    await waitFor("the gauge to start at 0", async () => (await metric(dev, waiting)) === 0);
    await post(dev, { id: "one" });
    await waitFor("the backlog to show", async () => (await metric(dev, waiting)) === 1);
    const age = 'davit_queue_oldest_age_seconds{namespace="default",route="github",state="delayed"}';
    await waitFor("its age to show", async () => (await metric(dev, age)) > 0);
    expect(await metric(dev, "davit_redis_up")).toBe(1);
    expect(await metric(dev, 'davit_redis_durable{source="verified"}')).toBe(1);
  });

  it("keeps dead letters, lists them and replays them", async () => {
    target.status = 500;
    workspace.write(manifests());
    const dev = await workspace.dev();
    const { id = "" } = await post(dev, { id: "one" });
    await waitFor("the dead letter", async () => (await stateOf(id)) === "dead");
    expect((await davit("deadletters", ...onData())).stdout).toMatch(
      new RegExp(`${id} .*default/github/target .* 3 .*500`),
    );
    target.status = 200;
    expect(await davit("replay", id, "--destination", "other", ...onData())).toMatchObject({ code: 1 });
    expect(await davit("replay", id, ...onData())).toMatchObject({ code: 0 });
    await waitFor("the delivery", async () => (await stateOf(id)) === "delivered");
    expect(target.bodies).toHaveLength(4);
    expect((await davit("deadletters", "-o", "json", ...onData())).stdout).toBe("[]\n");
    expect(await davit("replay", id, ...onData())).toMatchObject({ code: 1 });
  });

  it("sends as the provider would, by the route's name or with a secret of one's own", async () => {
    workspace.write(manifests());
    const dev = await workspace.dev();
    expect((await davit("send", "--route", "github", "--id", "x", ...onData())).stdout).toMatch(/^202 accepted as 01/);
    expect((await davit("send", "--route", "default/github", "--id", "x", ...onData())).stdout).toMatch(
      /^202 duplicate of 01/,
    );
    expect(await davit("send", "--route", "github", "--bad-signature", ...onData())).toMatchObject({
      code: 0,
      stdout: "401 SignatureMismatch: the signature does not match\n",
    });
    const explicit = ["--url", `${dev.gateway}/github`, "--provider", "github", "--secret-file", "/dev/null"];
    expect(await davit("send", ...explicit)).toMatchObject({ code: 1 });
    expect(await davit("send", "--route", "gitlab", ...onData())).toMatchObject({
      code: 1,
      stderr: "davit send: --route: there is no route gitlab; there is default/github\n",
    });
  });

  it("rotates a key when its Secret is saved: old and new are accepted, and counted apart", async () => {
    workspace.write(manifests());
    const dev = await workspace.dev();
    expect(await post(dev, { id: "before" })).toMatchObject({ status: 202 });
    expect(await post(dev, { id: "early", secret: "the-new-one" })).toMatchObject({ status: 401 });
    workspace.write(manifests({ secret: "the-new-one" }));
    await waitFor("the rotation", () => dev.program.stderr().includes("previous"));
    expect(await post(dev, { id: "old", secret: SECRET })).toMatchObject({ status: 202 });
    expect(await post(dev, { id: "new", secret: "the-new-one" })).toMatchObject({ status: 202 });
    const verified = 'davit_verifications_total{namespace="default",route="github",result="ok",key=';
    expect(await metric(dev, `${verified}"current"}`)).toBe(2);
    expect(await metric(dev, `${verified}"previous"}`)).toBe(1);
    expect(await metric(dev, "davit_secret_overlap_remaining_seconds")).toBeGreaterThan(86_000);

    await endDev(dev);
    const again = await workspace.dev();
    expect(await post(again, { id: "old-after-restart", secret: SECRET })).toMatchObject({ status: 202 });
    expect(dev.program.stderr() + again.program.stderr()).not.toContain("the-new-one");
  });

  it("keeps serving the last good manifests while a file is broken, and says what is wrong", async () => {
    workspace.write(manifests());
    const dev = await workspace.dev();
    workspace.write(manifests({ path: "no-slash" }));
    await waitFor("the problem", () => dev.program.stderr().includes("nothing was changed"));
    expect(dev.program.stderr()).toContain("spec.exposure.path");
    expect(await post(dev, { id: "one" })).toMatchObject({ status: 202 });
    workspace.write(manifests({ path: "/moved" }));
    await waitFor("the new path", async () => (await post(dev, { id: "two", path: "/moved" })).status === 202);
    expect(await post(dev, { id: "three" })).toMatchObject({ status: 503 });
  });
});

describe("davit dev and a route that goes", () => {
  const later = "[1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s]";
  const purging = () => manifests({ schedule: later }).replace("spec:", "spec:\n  deletionPolicy: Purge");

  it("puts its events on its shelf, and takes them up again when the route is back", async () => {
    target.status = 500;
    workspace.write(manifests({ schedule: later }));
    const dev = await workspace.dev();
    const { id = "" } = await post(dev, { id: "one" });
    await waitFor("an attempt", () => target.bodies.length > 0);
    workspace.write("");
    await waitFor("the news", () =>
      dev.program
        .stderr()
        .includes("default/github is not served any more; 1 waiting and 0 dead ones are on its shelf"),
    );
    expect(await stateOf(id)).toBe("shelved");
    const attempts = target.bodies.length;
    target.status = 200;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(target.bodies).toHaveLength(attempts);
    workspace.write(manifests({ schedule: later }));
    await waitFor("the delivery", async () => (await stateOf(id)) === "delivered");
    expect(target.bodies).toHaveLength(attempts + 1);
  });

  it("finds one that went while it was stopped", async () => {
    target.status = 500;
    workspace.write(manifests({ schedule: later }));
    const dev = await workspace.dev();
    const { id = "" } = await post(dev, { id: "one" });
    await waitFor("an attempt", () => target.bodies.length > 0);
    await endDev(dev);
    workspace.write("");
    const again = await workspace.dev();
    expect(again.program.stderr()).toContain("default/github is gone from the manifests; 1 waiting");
    expect(await stateOf(id)).toBe("shelved");
  });

  it("removes its events at once when its deletionPolicy asks for it", async () => {
    target.status = 500;
    workspace.write(purging());
    const dev = await workspace.dev();
    const { id = "" } = await post(dev, { id: "one" });
    await waitFor("an attempt", () => target.bodies.length > 0);
    workspace.write("");
    await waitFor("the news", () => dev.program.stderr().includes("as its deletionPolicy asks: 1"));
    expect(await davit("trace", id, ...onData())).toMatchObject({ code: 1 });
  });
});

describe("davit dev, ending and starting", () => {
  it("delivers after a restart what it accepted while the destination was down", async () => {
    target.stop();
    workspace.write(manifests({ schedule: "[1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s]" }));
    const dev = await workspace.dev();
    const { id = "" } = await post(dev, { id: "one" });
    await waitFor("a failed attempt", () => dev.program.stderr().includes("ECONNREFUSED"));
    expect(await endDev(dev)).toMatchObject({ code: 0 });
    target = await startTarget(target.port);
    await workspace.dev();
    await waitFor("the delivery", () => target.bodies.length > 0);
    await waitFor("its settling", async () => (await stateOf(id)) === "delivered");
    expect(target.bodies).toEqual(['{"id":"one"}']);
  });

  it("leaves no process behind after Ctrl-C, and lets a request under way end first", async () => {
    target.hangs = true;
    workspace.write(manifests());
    const dev = await workspace.dev({ detached: true });
    await post(dev, { id: "one" });
    await waitFor("the request", () => target.bodies.length === 1);
    // To the whole process group, as a terminal does.
    process.kill(-dev.pid, "SIGINT");
    await waitFor("the drain", () => dev.program.stderr().includes("1 request awaited"));
    expect(isAlive(dev.redisPid)).toBe(true);
    target.stop();
    expect(await dev.program.ended).toMatchObject({ code: 0 });
    expect(isAlive(dev.redisPid)).toBe(false);
  });

  it("ends at once at the second signal, Redis with it", async () => {
    target.hangs = true;
    workspace.write(manifests());
    const dev = await workspace.dev();
    await post(dev, { id: "one" });
    await waitFor("the request", () => target.bodies.length === 1);
    dev.program.child.kill("SIGINT");
    await waitFor("the drain", () => dev.program.stderr().includes("1 request awaited"));
    // The second of two signals that come together is the same key press.
    await new Promise((resolve) => setTimeout(resolve, 400));
    dev.program.child.kill("SIGINT");
    expect(await dev.program.ended).toMatchObject({ code: 130 });
    await waitFor("Redis to go", () => !isAlive(dev.redisPid));
  });

  it("ends, and says why, when its Redis is killed; the next one goes on", async () => {
    target.stop();
    workspace.write(manifests({ schedule: "[1h]" }));
    const dev = await workspace.dev();
    const { id = "" } = await post(dev, { id: "one" });
    await waitFor("a failed attempt", async () => (await stateOf(id)) === "delayed");
    process.kill(dev.redisPid, "SIGKILL");
    const { code, stderr } = await dev.program.ended;
    expect(code).toBe(1);
    expect(stderr).toContain("Redis has ended by itself");
    await workspace.dev();
    expect(await stateOf(id)).toBe("delayed");
  });

  it("takes over from a dev that was killed: its Redis is ended, its events are kept", async () => {
    target.stop();
    workspace.write(manifests({ schedule: "[1h]" }));
    const dev = await workspace.dev();
    const { id = "" } = await post(dev, { id: "one" });
    await endDev(dev, "SIGKILL");
    expect(isAlive(dev.redisPid)).toBe(true);
    await workspace.dev();
    expect(isAlive(dev.redisPid)).toBe(false);
    await waitFor("the event", async () => (await stateOf(id)) === "delayed");
  });

  it("refuses a directory that another dev uses, and disturbs nothing", async () => {
    workspace.write(manifests());
    const dev = await workspace.dev();
    const free = ["--port", "0", "--admin-port", "0", "--api-port", "0", "--console-port", "0"];
    const second = await davit("dev", "-f", workspace.manifests, ...free, ...onData());
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toBe(
      `davit dev: another davit dev (pid ${dev.pid}) uses ${workspace.data}: stop it, or choose another directory with --data-dir\n`,
    );
    expect(await post(dev, { id: "one" })).toMatchObject({ status: 202 });
  });

  it("names the flag when a port is taken, and leaves nothing running", async () => {
    workspace.write(manifests());
    const taken = ["--port", String(target.port), "--admin-port", "0", "--api-port", "0", "--console-port", "0"];
    const { code, stderr } = await davit("dev", "-f", workspace.manifests, ...taken, ...onData());
    expect(code).toBe(1);
    expect(stderr).toBe(`davit dev: port ${target.port} is in use: choose another with --port (0: any free one)\n`);
  });

  it("prints every problem of refused manifests and starts nothing", async () => {
    workspace.write(manifests({ path: "no-slash", schedule: "[soon]" }));
    const { code, stderr } = await davit(
      "dev",
      "-f",
      workspace.manifests,
      "--port",
      "0",
      "--admin-port",
      "0",
      ...onData(),
    );
    expect(code).toBe(1);
    expect(stderr).toContain("spec.exposure.path");
    expect(stderr).toContain("spec.delivery.retry.schedule[0]");
  });
});

describe("davit dev --once", () => {
  it("shows every step beside a dev that runs, prints the counts last, and leaves nothing", async () => {
    workspace.write(manifests());
    const dev = await workspace.dev();
    const { code, stdout, stderr } = await davit("dev", "-f", "examples/quickstart", "--once", "--json");
    expect(stderr).toContain("every step ended as it should");
    expect(stdout).toBe('{"delivered":5,"duplicates":1,"rejected":1,"retried":1,"deadLettered":1,"replayed":1}\n');
    expect(code).toBe(0);
    expect(stderr).toMatch(/fails twice .* 503 \(Retry-After 1 s\) → 500 → 200 .* delivered/);
    expect((await davit("events", "-o", "json", ...onData())).stdout).toBe("[]\n");
    expect(await post(dev, { id: "one" })).toMatchObject({ status: 202 });
    const [, dir = ""] = /data in (\S+)/.exec(stderr) ?? [];
    expect(dir).not.toBe("");
    expect((await davit("events", "--data-dir", dir)).stderr).toContain("no davit dev runs");
  });

  it("can be repeated over the same data", async () => {
    for (let run = 0; run < 2; run++) {
      const ended = await davit("dev", "-f", "examples/quickstart", "--once", "--json", ...onData());
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('"delivered":5') as string });
    }
  });

  it("says what it needs when no route fits", async () => {
    workspace.write(manifests({ schedule: "[1h]" }));
    const { code, stderr } = await davit("dev", "-f", workspace.manifests, "--once");
    expect(code).toBe(1);
    expect(stderr).toContain("davit dev: the demonstration needs a route");
  });

  it("ends when it is interrupted, with everything it started", async () => {
    const program = startDavit(["dev", "-f", "examples/quickstart", "--once", ...onData()]);
    await waitFor("the start", () => program.stdout().includes("davit dev is up"));
    const pid = workspace.state().redis?.pid ?? 0;
    program.child.kill("SIGTERM");
    expect(await program.ended).toMatchObject({ code: 1 });
    expect(isAlive(pid)).toBe(false);
  });
});

describe("davit", () => {
  it("lists its commands, and guesses what a mistyped one meant", async () => {
    const help = await davit("--help");
    for (const name of ["dev", "send", "verify", "trace", "replay", "validate", "crds"]) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name} +\\S`, "m"));
    }
    expect(help.code).toBe(0);
    expect(await davit("relpay")).toMatchObject({
      code: 2,
      stderr: 'davit: unknown command "relpay"; did you mean replay?\n',
    });
  });

  it("answers a wrong flag with the usage and exit code 2", async () => {
    const { code, stderr } = await davit("events", "--limt", "3");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^davit events: Unknown option '--limt'\n\nusage: davit events/);
  });
});
