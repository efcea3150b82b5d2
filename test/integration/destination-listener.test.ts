import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holderEndpoints } from "../../src/console/destination-listener.ts";
import { HolderLimits } from "../../src/console/holder/limits.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Janitor } from "../../src/custody/redis/janitor.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import type { Settle, TakenCopy } from "../../src/custody/port.ts";
import {
  destinationPolicy,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import { holderApiDescription } from "../support/api-schema.ts";
import { freshNamespace, knownDestination, knownRoute } from "../support/console.ts";
import {
  callAs,
  endlessLimits,
  startDestinationListener,
  type TestDestinationListener,
  TokenDirectory,
} from "../support/destination-api.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

/** Route `first` reaches both, `second` both, `secret` only bob. */
const ROUTES = { first: "00000000000000a1", second: "00000000000000a2", secret: "00000000000000a3" };
type RouteName = keyof typeof ROUTES;

let redis: TestRedis;
let store: RedisStore;
let listener: TestDestinationListener;
let namespace = "";
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  redis = await startRedis();
  store = new RedisStore({ url: redis.url });
  await store.start();
});
afterAll(async () => {
  store.close();
  await redis.stop();
});
beforeEach(() => open());
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A listener over a namespace of its own. */
async function open(limits: HolderLimits = endlessLimits()): Promise<void> {
  namespace = freshNamespace();
  const routes = Object.entries(ROUTES).map(([name, route]) => ({
    ...knownRoute(namespace, name, route),
    mayReach: (id: string) => name !== "secret" || id === "~bob",
  }));
  const directory = new TokenDirectory(
    routes,
    ["anna", "bob"].map((id) => knownDestination(namespace, id)),
  );
  const started = await startDestinationListener(store, directory, limits);
  listener = started;
  cleanups.push(() => started.close());
}

const scope = () => ({ instance: "default", namespace });
const operations = () => store.operations(scope());
const policyOf = (id: string) => destinationPolicy({ destination: `~${id}`, gate: { seq: 1 }, limit: 1_000 });
const as = (id: string, path: string, options?: Parameters<typeof callAs>[3]) => callAs(id, listener, path, options);
const post = (id: string, path: string, body?: unknown, headers = {}) =>
  as(id, path, { method: "POST", headers, ...(body !== undefined && { body }) });

async function accept(route: RouteName, ids: readonly string[], body = "{}"): Promise<string> {
  const event = newEvent({
    policy: routePolicy({ route: ROUTES[route] }),
    body: Buffer.from(body),
    eventType: `type.${ids.join(".")}`,
    headers: { "content-type": "application/json", "x-inside": "not for receivers" },
    destinations: ids.map((id) => ({ destination: `~${id}`, limit: 1 })),
  });
  return (await store.inbox(scope()).claim(event)).id;
}

/** Takes all of a destination's copies and settles each as it is told; what is told nothing is handed back. */
async function end(id: string, outcomes: ReadonlyMap<string, Settle["outcome"]>): Promise<void> {
  const outbox = store.outbox(scope(), { policies: () => [] });
  const copies = await take(outbox, policyOf(id), 500);
  const settles = copies.map((copy: TakenCopy) =>
    settlement(copy, outcomes.get(copy.eventId) ?? "handedBack", {
      delayMs: 3_600_000,
      record: {
        attempt: copy.attempt,
        at: copy.now,
        status: 500,
        response: `answer of ${id}`,
        error: `error of ${id}`,
        action: "dead",
        reason: "Status500",
      },
    }),
  );
  for (let at = 0; at < settles.length; at += 64) {
    await settle(outbox, settles.slice(at, at + 64), policyOf(id));
  }
}

const dead = (id: string, events: readonly string[]) => end(id, new Map(events.map((event) => [event, "dead"])));

/** Fields of an item that tests look at. */
interface Item {
  readonly id: string;
  readonly sequence: number;
  readonly route: string | null;
  readonly state: string;
}

/** All items of a list. */
async function all(id: string, path: string): Promise<{ readonly items: readonly Item[]; readonly text: string }> {
  const items: Item[] = [];
  let text = "";
  let next: string | undefined = "";
  do {
    const mark = path.includes("?") ? "&" : "?";
    const page = await as(id, next === "" ? path : `${path}${mark}cursor=${encodeURIComponent(next)}`);
    expect(page.status).toBe(200);
    items.push(...(page.body.items as readonly Item[]));
    text += page.text;
    next = page.body.next as string | undefined;
  } while (next !== undefined);
  return { items, text };
}

describe("the listener of holders", () => {
  it("serves exactly what is described, and describes what it serves", () => {
    const described = Object.entries(holderApiDescription.paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => ["get", "post"].includes(method))
        .map(([method, operation]) => `${method.toUpperCase()} ${path} ${operation.operationId}`),
    );
    const served = holderEndpoints(new HolderLimits()).map(
      ({ method, path, operation }) => `${method} ${path} ${operation}`,
    );
    expect(served.toSorted()).toEqual(described.toSorted());
  });

  it("knows nobody but holders, and answers all others alike", async () => {
    const [none, unknown] = [await as("", "/v1/destination"), await as("nobody", "/v1/destination")];
    expect([none.status, none.body.error, unknown.status, unknown.body.error]).toEqual([
      401,
      "TokenMissing",
      401,
      "TokenRefused",
    ]);
    const elsewhere = await as("anna", `/v1/namespaces/${namespace}/destinations`);
    expect(elsewhere.status, "nothing of the operators' API").toBe(404);
  });

  it("lists deliveries of several routes newest first, in pages of any size", async () => {
    const events: string[] = [];
    for (let i = 0; i < 12; i++) {
      await accept("secret", ["bob"]);
      events.unshift(await accept(i % 3 === 0 ? "second" : "first", i % 2 === 0 ? ["anna"] : ["bob", "anna"]));
    }
    for (const limit of [1, 5, 12, 100]) {
      const { items } = await all("anna", `/v1/deliveries?limit=${limit}`);
      const sequences = items.map(({ sequence }) => sequence);
      expect(sequences).toEqual(sequences.toSorted((a, b) => b - a));
      expect(items.map(({ id }) => id).toSorted()).toEqual(events.toSorted());
    }
    const { items } = await all("anna", "/v1/deliveries?route=second&limit=3");
    expect(items.map(({ route }) => route)).toEqual(Array.from({ length: 4 }, () => "second"));
    expect((await all("anna", "/v1/deliveries?state=dead")).items).toEqual([]);
    expect((await all("anna", `/v1/deliveries?eventType=type.bob*`)).items).toHaveLength(6);
  });

  it("finds a delivery behind thousands of others' events, and its cursors tell only the second", async () => {
    const first = await accept("first", ["anna"]);
    const inbox = store.inbox(scope());
    const policy = routePolicy({ route: ROUTES.first });
    for (let n = 0; n < 2_700; n += 100) {
      const some = Array.from({ length: 100 }, () =>
        inbox.claim(newEvent({ policy, destinations: [{ destination: "~bob", limit: 1 }] })),
      );
      await Promise.all(some);
    }
    const page = await as("anna", "/v1/deliveries");
    const { items } = await all("anna", "/v1/deliveries");
    expect(items.map(({ id }) => id)).toEqual([first]);
    expect(page.body.items).toEqual([]);
    const [, sequence] = Buffer.from(page.body.next as string, "base64url")
      .toString()
      .split(":");
    expect(Number(sequence) % (1_000 * 4_096)).toBe(0);
  }, 30_000);

  it("tells a delivery with its log, and its body while it is kept for its sake", async () => {
    const event = await accept("first", ["anna", "bob"], '{"for":"both"}');
    await dead("anna", [event]);
    const { body } = await as("anna", `/v1/deliveries/${event}?include=body`);
    expect(body).toMatchObject({
      id: event,
      route: "first",
      destination: "~anna",
      state: "dead",
      reason: "Status500",
      log: [{ attempt: 1, status: 500, response: "answer of anna" }],
      contentType: "application/json",
    });
    expect(Buffer.from(body.body, "base64").toString()).toBe('{"for":"both"}');
    expect(JSON.stringify(body)).not.toContain("not for receivers");
    await post("anna", `/v1/deliveries/${event}/replay`);
    await end("anna", new Map([[event, "delivered"]]));
    const after = await as("anna", `/v1/deliveries/${event}?include=body`);
    expect(after.body, "kept for the others only").toMatchObject({ state: "delivered" });
    expect(after.body).not.toHaveProperty("body");
  });

  it("replays one, and all that fit, with preview, pause, resume and cancel", async () => {
    const events = [await accept("first", ["anna", "bob"]), await accept("second", ["anna"])];
    await dead("anna", events);
    await dead("bob", events);
    expect((await as("anna", "/v1/dead-letters/count")).body).toEqual({ count: 2, atLeast: false });
    const [first = ""] = events;
    expect((await post("anna", `/v1/deliveries/${first}/replay`)).body).toEqual({ replayed: true });
    expect((await post("anna", `/v1/deliveries/${first}/replay`)).body).toEqual({ replayed: false });
    expect((await post("anna", "/v1/replays", { filter: {}, preview: true })).body).toEqual({
      preview: true,
      copies: 1,
      atLeast: false,
    });
    const key = { "idempotency-key": "k" };
    const created = await post("anna", "/v1/replays", { filter: {}, rate: 400 }, key);
    expect([created.status, created.body]).toMatchObject([201, { total: 1, state: "running", rate: 400 }]);
    const again = await post("anna", "/v1/replays", { filter: {}, rate: 400 }, key);
    expect([again.status, again.body.id]).toEqual([200, created.body.id]);
    expect((await post("anna", "/v1/replays", { filter: {}, rate: 3 }, key)).status).toBe(409);
    const replay = `/v1/replays/${created.body.id}`;
    expect((await post("anna", `${replay}/pause`)).body.state).toBe("paused");
    expect((await post("anna", `${replay}/resume`)).body.state).toBe("running");
    await advance();
    expect((await as("anna", replay)).body).toMatchObject({ state: "done", replayed: 1 });
    expect((await post("anna", `${replay}/cancel`)).body.state).toBe("done");
    expect((await as("anna", "/v1/dead-letters/count")).body).toEqual({ count: 0, atLeast: false });
    expect(await operations().countDeadLetters({ destination: "~bob" }), "the other's are dead still").toMatchObject({
      count: 1,
    });
  });

  it("bounds how many replays one destination has", async () => {
    for (let n = 0; n < 10; n++) {
      const key = { "idempotency-key": `n${n}` };
      const { status, body } = await post("anna", "/v1/replays", { filter: { route: "first" } }, key);
      expect(status).toBe(201);
      if (n % 2 === 0) await post("anna", `/v1/replays/${body.id}/pause`);
    }
    const refused = await post("anna", "/v1/replays", { filter: {} });
    expect([refused.status, refused.body.error]).toEqual([429, "TooManyReplays"]);
    // One that was created already is told all the same: the first answer may have been lost.
    const key = { "idempotency-key": "n0" };
    expect((await post("anna", "/v1/replays", { filter: { route: "first" } }, key)).status).toBe(200);
    expect((await post("bob", "/v1/replays", { filter: {} })).status).toBe(201);
  });

  it("tells statistics and sends test events", async () => {
    const sent = await post("anna", "/v1/test", { route: "second", data: { n: 1 } });
    expect([sent.status, sent.body]).toMatchObject([202, { route: "second", eventType: "davit.test" }]);
    expect((await as("anna", "/v1/destination")).body).toMatchObject({
      id: "anna",
      copies: { ready: 1 },
      routes: ["first", "second"],
    });
    expect((await as("anna", `/v1/deliveries/${sent.body.id}`)).body).toMatchObject({ state: "waiting" });
    expect((await as("bob", `/v1/deliveries/${sent.body.id}`)).status).toBe(404);
  });

  it("bounds how often one destination and one stranger may call, and how many tests are sent", async () => {
    let now = 0;
    await open(new HolderLimits(() => now));
    const statuses = async (id: string, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => as(id, "/v1/destination")));
      return answers.map(({ status }) => status);
    };
    const calls = [];
    for (let round = 0; round < 6; round++) calls.push(...(await statuses("anna", 10)));
    expect(calls.filter((status) => status === 200)).toHaveLength(50);
    const refused = await as("anna", "/v1/destination");
    expect([refused.status, refused.body.error, refused.headers.get("retry-after")]).toEqual([429, "RateLimited", "1"]);
    expect(await statuses("bob", 1), "another destination").toEqual([200]);
    const strange = [...(await statuses("nobody", 15)), ...(await statuses("", 15))];
    expect(strange.filter((status) => status === 401)).toHaveLength(20);
    expect(await statuses("bob", 1), "a holder at the same address").toEqual([200]);
    now += 100;
    expect(await statuses("anna", 1)).toEqual([200]);
    now += 100_000;
    const tests = [];
    for (let n = 0; n < 6; n++) tests.push((await post("anna", "/v1/test", { route: "first" })).status);
    expect(tests).toEqual([202, 202, 202, 202, 202, 429]);
  });

  it("writes what holders change to the audit log, and no token", async () => {
    await post("anna", "/v1/replays", { filter: {} });
    await as("nobody", "/v1/destination");
    expect(listener.log()).toContain(`"caller":"destination ${namespace}/anna"`);
    expect(listener.log()).not.toContain("token-of");
  });
});

/** What a worker does: replays go on. */
async function advance(): Promise<void> {
  const client = connect(redis.url, { enableOfflineQueue: true });
  cleanups.push(() => client.disconnect());
  await new Janitor(client, tagOf(scope()), { policies: () => [] }).advanceReplays();
}

/** One event of a world: who gets it, how it ends with each. */
interface Happening {
  readonly route: RouteName;
  readonly anna: "none" | "waiting" | "delivered" | "dead" | "retry";
  readonly bob: "none" | "waiting" | "delivered" | "dead" | "retry";
}

const STATES = { waiting: "waiting", delivered: "delivered", dead: "dead", retry: "delayed" } as const;

describe("what holders see of each other", () => {
  const outcome = fc.constantFrom("none", "waiting", "delivered", "dead", "retry");
  const happening: fc.Arbitrary<Happening> = fc
    .record({ route: fc.constantFrom("first", "second", "secret"), anna: outcome, bob: outcome })
    .map((one) => (one.route === "secret" ? { ...one, anna: "none" } : one)) as fc.Arbitrary<Happening>;

  it("is nothing, whatever they share", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 4, maxLength: 24 }), async (world) => {
        await open();
        const secrets = await build(world);
        const seen = await everything("anna");
        expectModel(secrets.events, seen);
        for (const secret of [...secrets.ofBob, "bob", "secret", ROUTES.secret, ROUTES.first])
          expect(seen.text).not.toContain(secret);
      }),
      { numRuns: 12 },
    );
  }, 60_000);

  /** Makes it all happen. */
  async function build(world: readonly Happening[]) {
    const events: { readonly id: string; readonly of: Happening }[] = [];
    for (const of of world) {
      const ids = (["anna", "bob"] as const).filter((id) => of[id] !== "none");
      // The type of an event that both get names both: it is theirs to see, and not looked for.
      const id = await acceptPlain(of.route, ids);
      events.push({ id, of });
    }
    for (const id of ["anna", "bob"] as const) {
      const outcomes = events.filter(({ of }) => of[id] !== "none" && of[id] !== "waiting");
      await end(id, new Map(outcomes.map(({ id: event, of }) => [event, of[id] as Settle["outcome"]])));
    }
    const { replay } = await operations().startReplay({ filter: { destination: "~bob", from: Date.now() + 60_000 } });
    const own = await post("bob", "/v1/replays", { filter: { from: "2100-01-01T00:00:00Z" } });
    const ofBob = events.filter(({ of }) => of.anna === "none").map(({ id }) => id);
    return { events, ofBob: [...ofBob, replay.id, own.body.id as string] };
  }

  async function acceptPlain(route: RouteName, ids: readonly string[]): Promise<string> {
    const event = newEvent({
      policy: routePolicy({ route: ROUTES[route] }),
      body: Buffer.from(ids.includes("anna") ? "shared" : "body of bob"),
      eventType: "plain",
      destinations: ids.map((id) => ({ destination: `~${id}`, limit: 1 })),
    });
    return (await store.inbox(scope()).claim(event)).id;
  }

  async function everything(id: string) {
    const deliveries = await all(id, "/v1/deliveries?limit=3");
    const letters = await all(id, "/v1/dead-letters?limit=2");
    const ones = [];
    for (const one of deliveries.items) ones.push(await as(id, `/v1/deliveries/${one.id}?include=body`));
    const statistics = await as(id, "/v1/destination");
    const count = await as(id, "/v1/dead-letters/count");
    const preview = await post(id, "/v1/replays", { filter: {}, preview: true });
    const replays = await as(id, "/v1/replays");
    const others = [statistics, count, preview, replays, ...ones];
    const bodies = ones.map(({ body }) => Buffer.from((body.body as string | undefined) ?? "", "base64").toString());
    const text = [deliveries.text, letters.text, ...others.map((one) => one.text), ...bodies].join("\n");
    return { deliveries, letters, statistics: statistics.body, count: count.body, preview: preview.body, text };
  }

  function expectModel(
    events: readonly { readonly id: string; readonly of: Happening }[],
    seen: Awaited<ReturnType<typeof everything>>,
  ): void {
    const own = events.flatMap(({ id, of }) => (of.anna === "none" ? [] : [[id, STATES[of.anna]] as const]));
    const count = (state: string) => own.filter(([, one]) => one === state).length;
    const listed = seen.deliveries.items.map(({ id, state }) => [id, state] as const);
    const byId = (a: readonly [string, string], b: readonly [string, string]) => (a[0] < b[0] ? -1 : 1);
    expect(listed.toSorted(byId)).toEqual(own.toSorted(byId));
    expect(seen.letters.items).toHaveLength(count("dead"));
    expect(seen.count).toEqual({ count: count("dead"), atLeast: false });
    expect(seen.preview).toEqual({ preview: true, copies: count("dead"), atLeast: false });
    expect(seen.statistics).toMatchObject({
      copies: { ready: count("waiting"), replayed: 0, delayed: count("delayed"), active: 0, dead: count("dead") },
      delivered: count("delivered"),
      failed: count("dead") + count("delayed"),
      routes: ["first", "second"],
    });
  }

  it("is not had by naming it: events, routes, cursors, replays and keys of others", async () => {
    const shared = [await accept("first", ["anna", "bob"]), await accept("first", ["anna", "bob"])];
    const bobs = [await accept("first", ["bob"]), await accept("secret", ["bob"]), ...shared];
    await dead("bob", bobs);
    expect((await as("anna", "/v1/deliveries?state=dead")).body, "states of others' copies").toEqual({ items: [] });
    const nowhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (const [method, rest] of [
      ["GET", ""],
      ["GET", "?include=body"],
      ["POST", "/replay"],
    ] as const) {
      const [of, none] = [bobs[0], nowhere].map((id) => as("anna", `/v1/deliveries/${id}${rest}`, { method }));
      expect([(await of)?.status, (await of)?.text]).toEqual([404, (await none)?.text]);
    }
    expect((await as("bob", `/v1/deliveries/${bobs[0]}`)).body.state, "it is dead still").toBe("dead");
    expect((await post("anna", `/v1/deliveries/${shared[0]}/replay`)).body).toEqual({ replayed: false });
    expect((await as("bob", `/v1/deliveries/${shared[0]}`)).body.state).toBe("dead");
    for (const place of ["/v1/deliveries", "/v1/dead-letters", "/v1/dead-letters/count"]) {
      const [of, none] = ["secret", "nothing"].map((route) => as("anna", `${place}?route=${route}`));
      expect([(await of)?.status, (await of)?.text]).toEqual([400, (await none)?.text]);
      expect((await as("anna", `${place}?destination=~bob`)).status).toBe(400);
    }
    for (const path of ["/v1/test", "/v1/replays"]) {
      const [of, none] = ["secret", "nothing"].map((route) =>
        post("anna", path, path === "/v1/test" ? { route } : { filter: { route } }),
      );
      expect([(await of)?.status, (await of)?.text]).toEqual([400, (await none)?.text]);
    }
    const letters = (await as("bob", "/v1/dead-letters?limit=1")).body.next as string;
    expect((await as("anna", `/v1/dead-letters?cursor=${letters}`)).status).toBe(400);
    const page = (await as("bob", "/v1/deliveries?limit=1")).body.next as string;
    const cut = await as("anna", `/v1/deliveries?cursor=${page}`);
    expect(cut.body.items.every(({ id }: { readonly id: string }) => shared.includes(id))).toBe(true);
    for (const cursor of [letters, "x", Buffer.from("deliveries:9e99:zz").toString("base64url")])
      expect((await as("anna", `/v1/deliveries?cursor=${cursor}`)).status).toBe(400);
  });

  it("is not had by replay ids or keys of others, nor of operators", async () => {
    const key = { "idempotency-key": "same" };
    const bobs = await post("bob", "/v1/replays", { filter: {} }, key);
    const annas = await post("anna", "/v1/replays", { filter: {} }, key);
    expect([annas.status, annas.body.id === bobs.body.id]).toEqual([201, false]);
    const { replay } = await operations().startReplay({ filter: { destination: "~anna" } });
    for (const id of [bobs.body.id as string, replay.id]) {
      for (const step of ["", "/pause", "/resume", "/cancel"]) {
        const method = step === "" ? "GET" : "POST";
        const [of, none] = [id, "0".repeat(20)].map((one) => as("anna", `/v1/replays/${one}${step}`, { method }));
        expect([(await of)?.status, (await of)?.text]).toEqual([404, (await none)?.text]);
      }
      expect((await operations().replay(id))?.state).toBe("running");
    }
    const listed = (await as("anna", "/v1/replays")).body.items as readonly { readonly id: string }[];
    expect(listed.map(({ id }) => id)).toEqual([annas.body.id]);
  });
});
