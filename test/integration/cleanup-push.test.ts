import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CLEANUP_POLICIES, CLEANUP_RUNS } from "../../src/api/cleanup-resources.ts";
import type { Inbox } from "../../src/custody/port.ts";
import { NAMESPACES } from "../../src/kube/core-types.ts";
import { unique } from "../../src/kube/conformance/fixtures.ts";
import { providerIdQuery } from "../../src/routes/delivery-id.ts";
import type { RetryPolicy, RouteEntry } from "../../src/routes/entry.ts";
import { CleanupPush, type CleanupPushOptions, cleanupRoute, POLICY, RUN } from "../support/cleanup-push.ts";
import { waitFor } from "../support/dev-process.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";
import { keptEvents } from "../support/kept-events.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

let redis: TestRedis;
let fake: FakeApiServer;
const running: CleanupPush[] = [];

beforeAll(async () => {
  [redis, fake] = await Promise.all([startRedis(), startFakeApiServer([NAMESPACES, CLEANUP_POLICIES, CLEANUP_RUNS])]);
});
afterAll(async () => {
  await Promise.all([redis.stop(), fake.stop()]);
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

/** The whole way in a namespace of the test's own, with its policy. */
async function start(options: Partial<CleanupPushOptions> = {}, changes: Partial<RouteEntry> = {}) {
  const namespace = fake.addNamespace(unique("cleanup"));
  const way = await CleanupPush.start(redis, cleanupRoute(namespace, changes), { auth: fake.auth(), ...options });
  running.push(way);
  await way.makePolicy();
  return way;
}

/** A route whose attempts follow each other after these delays, ms. */
function retriedAfter(delaysMs: readonly number[]): Pick<RouteEntry, "destinations"> {
  const { destinations } = cleanupRoute("x");
  const retry: RetryPolicy = {
    type: "schedule",
    delaysMs,
    jitter: 0,
    giveUpAfterMs: 1e9,
    maxRetryAfterMs: 1e9,
    maxAgeMs: 1e9,
  };
  return { destinations: destinations.map((one) => ({ ...one, retry })) };
}

const LOCATION = (way: CleanupPush, runId = "2026-W05") =>
  `/v1/namespaces/${way.namespace}/cleanup-policies/${POLICY}/runs/${runId}`;
const eventsOf = (way: CleanupPush) => keptEvents(way.operations, way.route.route);
const stateOf = async (way: CleanupPush, id: unknown) => (await way.ledger.event(String(id)))?.copies[0]?.state;
const idOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) => headers["davit-event-id"];

describe("a failure at each point between a push and its run", () => {
  it("before verification: nothing is stored", async () => {
    const way = await start();
    await way.startWorker();
    const { status, headers } = await way.push(RUN, { secret: "somebody else's" });
    expect([status, headers["location"]]).toEqual([401, undefined]);
    expect(await eventsOf(way)).toEqual([]);
    expect(await way.madeRuns()).toEqual([]);
    expect((await way.ask("2026-W05")).status).toBe(404);
  });

  it("after verification, before the commit: the redelivery stores", async () => {
    let isGone = true;
    let claims = 0;
    const way = await start({
      inbox: (inbox): Inbox => ({
        keep: (kept) => inbox.keep(kept),
        reject: (rejection) => inbox.reject(rejection),
        // The process is gone before the store hears of the event: it is verified, and nobody answers.
        claim: async (event) => {
          claims += 1;
          return isGone ? new Promise<never>(() => undefined) : inbox.claim(event);
        },
      }),
    });
    const first = await way.pushOverSocket(RUN, "d-1");
    await waitFor("the claim", async () => claims === 1);
    first.cut();
    expect(await first.ended).toBe("");
    expect(await eventsOf(way)).toEqual([]);
    isGone = false;
    expect((await way.push(RUN, { id: "d-1" })).status).toBe(204);
    expect(await eventsOf(way)).toHaveLength(1);
    await way.startWorker();
    await waitFor("the run", async () => (await way.madeRuns()).length === 1);
  });

  it("before the commit, with the store gone: the push is refused with 503, and its redelivery stores", async () => {
    const way = await start();
    await redis.kill9();
    const { status, headers } = await way.push(RUN, { id: "d-1" });
    expect([status, headers["location"]]).toEqual([503, undefined]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    await redis.restart();
    await waitFor("the redelivery", async () => (await way.push(RUN, { id: "d-1" })).status === 204);
    expect(await eventsOf(way)).toHaveLength(1);
  });

  it("after the commit, before the 204 (the socket is cut): the same id is answered 204, and there is one run", async () => {
    let cut: (() => void) | undefined;
    const way = await start({
      inbox: (inbox): Inbox => ({
        keep: (kept) => inbox.keep(kept),
        reject: (rejection) => inbox.reject(rejection),
        claim: async (event) => {
          const result = await inbox.claim(event);
          cut?.();
          // The cut reaches the gateway before its answer goes out.
          if (cut) await sleep(50);
          return result;
        },
      }),
    });
    const first = await way.pushOverSocket(RUN, "d-1");
    ({ cut } = first);
    expect(await first.ended).toBe("");
    const [stored, ...others] = await eventsOf(way);
    expect(others).toEqual([]);
    cut = undefined;
    await way.startWorker();
    await waitFor("the run", async () => (await way.madeRuns()).length === 1);
    const again = await way.push(RUN, { id: "d-1" });
    expect([again.status, idOf(again), again.headers["location"]]).toEqual([204, stored?.id, LOCATION(way)]);
    // Sent under another delivery id, it is another event, and asks for the same run.
    const other = await way.push(RUN);
    expect([other.status, other.headers["location"]]).toEqual([204, LOCATION(way)]);
    await waitFor("the other's end", async () => (await stateOf(way, idOf(other))) === "delivered");
    const runs = await way.madeRuns();
    expect(runs.map(({ spec }) => [spec.runId, spec.scope, spec.cutoff, spec.trigger, spec.eventId])).toEqual([
      ["2026-W05", "wh-17", "2026-01-31T00:00:00.000Z", "Push", stored?.id],
    ]);
    expect((await way.ledger.event(stored?.id ?? ""))?.duplicates).toBe(1);
  });
});

describe("a push that asks for no run", () => {
  const table: readonly [reason: string, body: object | string][] = [
    ["PayloadNotJson", "no json"],
    ["RunIdInvalid", "[1]"],
    ["RunIdInvalid", { ...RUN, run_id: undefined }],
    ["RunIdInvalid", { ...RUN, run_id: "a blank" }],
    ["ScopeInvalid", { ...RUN, warehouse_id: undefined }],
    ["ScopeInvalid", { ...RUN, scope: "wh-18" }],
    ["ScopeInvalid", { ...RUN, warehouse_id: "../secret" }],
    ["CutoffInvalid", { ...RUN, expired_before: undefined }],
    ["CutoffInvalid", { ...RUN, expired_before: "2026-01-31T00:00:00" }],
    ["CutoffInvalid", { ...RUN, expired_before: "2026-02-30T00:00:00Z" }],
  ];

  it("is refused with 422 and the field, leaves a trace without values, and nothing is stored", async () => {
    const way = await start();
    for (const [reason, body] of table) {
      const { status, text, headers } = await way.push(body);
      expect([body, status, (JSON.parse(text) as { error: string }).error, headers["location"]]).toEqual([
        body,
        422,
        reason,
        undefined,
      ]);
      expect(text).not.toMatch(/a blank|wh-18|secret|2026-02-30/);
    }
    expect(await eventsOf(way)).toEqual([]);
    await waitFor("the traces", async () => (await way.ledger.rejections(way.route.route)).length === table.length);
    const rejections = await way.ledger.rejections(way.route.route);
    expect(rejections.map(({ reason }) => reason).toSorted()).toEqual(table.map(([reason]) => reason).toSorted());
  });

  it("is refused as well where a filter would keep it from the cleanup destination", async () => {
    const destinations = cleanupRoute("x").destinations.map((one) => ({ ...one, eventTypes: ["run.*"] }));
    const way = await start(
      {},
      { destinations, payload: { ...cleanupRoute("x").payload, eventTypeFrom: "json:/type" } },
    );
    expect((await way.push({ type: "other" })).status).toBe(422);
    expect((await way.push({ ...RUN, type: "other" })).status).toBe(204);
  });

  it("is told so one by one where events are published from inside", async () => {
    const way = await start();
    const response = await fetch(`${way.apiUrl}/v1/namespaces/${way.namespace}/routes/push/events`, {
      method: "POST",
      headers: { authorization: "Bearer a-token-of-the-tests" },
      body: JSON.stringify([
        { type: "run", data: null, ...RUN },
        { type: "run", data: RUN },
        { type: "run", data: null, ...RUN, expired_before: "soon" },
      ]),
    });
    const { results } = (await response.json()) as { results: readonly { status: string; error?: object }[] };
    expect(results).toMatchObject([
      { status: "accepted" },
      { status: "error", error: { code: "RunRequestInvalid", field: "run_id" } },
      { status: "error", error: { code: "RunRequestInvalid", field: "expired_before" } },
    ]);
    expect((await way.ask("2026-W05")).body).toMatchObject({ phase: "Pending", reason: "Queued" });
    await way.startWorker();
    await waitFor("the run", async () => (await way.madeRuns()).length === 1);
  });
});

describe("a run id that was used before", () => {
  it.each([{ warehouse_id: "wh-18" }, { expired_before: "2026-01-30T00:00:00Z" }])(
    "for something else is taken as a delivery and ends at once as the dead letter RunConflict: %j",
    async (change) => {
      const way = await start();
      await way.startWorker();
      await way.push();
      await waitFor("the run", async () => (await way.madeRuns()).length === 1);
      const before = await way.madeRuns();
      const other = await way.push({ ...RUN, ...change });
      expect(other.status).toBe(204);
      await waitFor("its end", async () => (await stateOf(way, idOf(other))) === "dead");
      const [copy] = (await way.ledger.event(String(idOf(other))))?.copies ?? [];
      expect(copy?.attempts).toMatchObject([{ attempt: 1, action: "dead", reason: "RunConflict" }]);
      expect(JSON.stringify(copy)).not.toMatch(/wh-1[78]|2026-01/);
      expect(await way.madeRuns()).toEqual(before);
      // The id is the first one's.
      expect((await way.ask("2026-W05")).body).toMatchObject({ scope: "wh-17", cutoff: "2026-01-31T00:00:00.000Z" });
      const metrics = await way.metrics.registry.metrics();
      const labels = `namespace="${way.namespace}",policy="${POLICY}"`;
      expect(metrics).toContain(`davit_cleanup_run_conflicts_total{${labels}} 1`);
      expect(metrics).toContain(`davit_cleanup_queue_to_run_seconds_count{${labels}} 1`);
      expect(metrics).toMatch(/davit_dead_letters_total\{.*reason="RunConflict"\} 1/);
    },
  );
});

describe("a push for a policy that is missing", () => {
  it("is tried again, and makes its run once there is one", async () => {
    const way = await start({}, retriedAfter([100, 100, 60_000]));
    await way.removePolicy();
    await way.startWorker();
    const pushed = await way.push();
    const attempts = async () => (await way.ledger.event(String(idOf(pushed))))?.copies[0]?.attempts ?? [];
    await waitFor("an attempt", async () => (await attempts()).some(({ action }) => action === "retry"));
    expect((await attempts())[0]).toMatchObject({ action: "retry", error: "policy_not_found" });
    await way.makePolicy();
    await waitFor("the run", async () => (await way.madeRuns()).length === 1);
  });
});

describe("what a caller is told of a run", () => {
  it("is Pending from the acknowledgement on, then what the CleanupRun says", async () => {
    const way = await start();
    const runId = "2026-W05/a b?".replace(" ", "%");
    const pushed = await way.push({ ...RUN, run_id: runId });
    const path = String(pushed.headers["location"]);
    expect(path).toBe(LOCATION(way, "2026-W05%2Fa%25b%3F"));
    const queued = await way.ask(runId, { path });
    expect(queued).toMatchObject({
      status: 200,
      body: { runId, phase: "Pending", reason: "Queued", eventId: idOf(pushed), receivedAt: expect.any(String) },
    });
    expect(queued.body).not.toHaveProperty("name");
    // As davit trace looks for it.
    const traced = await way.ledger.findByProviderId(providerIdQuery(way.route, runId));
    expect(traced.map(({ eventId }) => eventId)).toEqual([idOf(pushed)]);
    await way.startWorker();
    await waitFor("the run", async () => (await way.ask(runId, { path })).body["name"] !== undefined);
    const [run] = await way.madeRuns();
    const name = run?.metadata.name ?? "";
    const made = { runId, name, scope: "wh-17", cutoff: "2026-01-31T00:00:00.000Z", eventId: idOf(pushed) };
    expect((await way.ask(runId, { path })).body).toEqual({
      ...made,
      phase: "Pending",
      receivedAt: expect.any(String),
    });
    await way.writeStatus(name, {
      phase: "Running",
      reason: "",
      admittedAt: "2026-02-01T00:00:00Z",
      startedAt: "2026-02-01T00:00:01Z",
      counters: { listed: 7, deleted: 3 },
      lease: { holder: "h", token: "the-lease-token", renewedAt: "2026-02-01T00:00:01Z" },
      samples: [{ key: "warehouses/wh-17/k", reason: "LegalHold" }],
    });
    const ran = await way.ask(runId, { path });
    expect(ran.body).toMatchObject({ ...made, phase: "Running", counters: { listed: 7, deleted: 3 } });
    expect(JSON.stringify(ran.body)).not.toMatch(/lease|warehouses/);
    expect(ran.headers.get("cache-control")).toBe("no-store");
  });

  it("is Failed with the dead letter's reason while its event is one, and Pending again once that is replayed", async () => {
    const way = await start({}, retriedAfter([]));
    const powerless = await way.startWorker(fake.strangerAuth());
    const pushed = await way.push();
    await waitFor("its end", async () => (await stateOf(way, idOf(pushed))) === "dead");
    await powerless.stop();
    const failed = await way.ask("2026-W05");
    expect(failed.body).toMatchObject({ phase: "Failed", reason: "AttemptsExhausted", eventId: idOf(pushed) });
    expect(failed.body["message"]).toContain(`davit replay ${String(idOf(pushed))}`);
    expect(failed.body).not.toHaveProperty("name");
    expect((await way.ledger.event(String(idOf(pushed))))?.copies[0]?.attempts[0]?.error).toBe("api_forbidden");
    await way.ledger.replay(String(idOf(pushed)));
    expect((await way.ask("2026-W05")).body).toMatchObject({ phase: "Pending", reason: "Queued" });
    await way.startWorker();
    await waitFor("the run", async () => (await way.ask("2026-W05")).body["name"] !== undefined);
  });

  it("prefers the event that may still make the run over one that did not", async () => {
    const way = await start();
    const first = await way.push();
    await way.operations.cancel({ filter: { route: way.route.route } });
    const second = await way.push();
    const { body } = await way.ask("2026-W05");
    expect([body["phase"], body["eventId"]]).toEqual(["Pending", idOf(second)]);
    expect(idOf(first)).not.toBe(idOf(second));
  });

  it("is 404 without such a policy, without anything that asks for it, and once the history had no room for it", async () => {
    const way = await start();
    expect(await way.ask("unknown")).toMatchObject({ status: 404, body: { error: "NoSuchRun" } });
    const elsewhere = `/v1/namespaces/${way.namespace}/cleanup-policies/other/runs/r`;
    expect(await way.ask("r", { path: elsewhere })).toMatchObject({ status: 404, body: { error: "NoSuchPolicy" } });
    await way.startWorker();
    const pushed = await way.push();
    await waitFor("the delivery", async () => (await stateOf(way, idOf(pushed))) === "delivered");
    const [run] = await way.madeRuns();
    await way.runs.delete(run?.metadata ?? { name: "" });
    expect(await way.ask("2026-W05")).toMatchObject({ status: 404, body: { error: "NoSuchRun" } });
  });

  it("is found where the run was made between the looks at the API server and at custody", async () => {
    let looks = 0;
    const run = {
      metadata: { name: "made" },
      spec: { ...RUN, runId: "2026-W05", scope: "s", cutoff: RUN.expired_before },
    };
    const way = await start({ runs: { find: async () => ((looks += 1) === 1 ? "noRun" : (run as never)) } });
    await way.startWorker();
    const pushed = await way.push();
    await waitFor("the delivery", async () => (await stateOf(way, idOf(pushed))) === "delivered");
    expect(await way.ask("2026-W05")).toMatchObject({ status: 200, body: { name: "made" } });
  });

  it("is nothing for whoever has no token or no right to the runs of the namespace", async () => {
    const asked: unknown[] = [];
    const access = {
      caller: async (token: string) =>
        token === "unknown"
          ? undefined
          : {
              name: "somebody",
              may: async (right: object) => {
                asked.push(right);
                return token === "allowed";
              },
            },
    };
    const way = await start({ access });
    await way.push();
    expect(await way.ask("2026-W05", { token: "" })).toMatchObject({ status: 401, body: { error: "TokenMissing" } });
    expect(await way.ask("2026-W05", { token: "unknown" })).toMatchObject({ status: 401 });
    const denied = await Promise.all(
      ["2026-W05", "other"].map(async (runId) => (await way.ask(runId, { token: "powerless" })).body),
    );
    expect(denied).toMatchObject([{ error: "NotAllowed" }, { error: "NotAllowed" }]);
    expect((await way.ask("2026-W05", { token: "allowed" })).status).toBe(200);
    const right = { verb: "get", group: "davit.dev", resource: "cleanupruns", namespace: way.namespace, name: "" };
    expect(asked).toEqual([right, right, right]);
  });

  it("is 503 while it cannot be told", async () => {
    const broken = async () => {
      throw new Error("no API server");
    };
    const way = await start({ runs: { find: broken } });
    expect(await way.ask("2026-W05")).toMatchObject({ status: 503, body: { error: "RunUnknown" } });
    const whole = await start();
    redis.freeze();
    try {
      expect(await whole.ask("2026-W05")).toMatchObject({ status: 503, body: { error: "RunUnknown" } });
    } finally {
      redis.thaw();
    }
  });

  it("is read with GET, and of an id that a push can have", async () => {
    const way = await start();
    const authorization = "Bearer a-token-of-the-tests";
    const answers = await Promise.all([
      fetch(way.apiUrl + LOCATION(way), { method: "DELETE", headers: { authorization } }),
      fetch(way.apiUrl + LOCATION(way, "a%20b"), { headers: { authorization } }),
      fetch(way.apiUrl + LOCATION(way, "%zz"), { headers: { authorization } }),
      fetch(`${way.apiUrl}${LOCATION(way)}/more`, { headers: { authorization } }),
    ]);
    const told = await Promise.all(
      answers.map(async (answer) => [answer.status, ((await answer.json()) as { error: string }).error]),
    );
    expect(told).toEqual([
      [405, "MethodNotAllowed"],
      [400, "RunIdMalformed"],
      [400, "RunIdMalformed"],
      [404, "NoSuchEndpoint"],
    ]);
    expect(answers[0]?.headers.get("allow")).toBe("GET");
  });
});
