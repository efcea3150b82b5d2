import { describe, expect, it } from "vitest";
import type { Backlog } from "../../custody/backlog.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { Scale } from "./scale.ts";

const backlog = (part: Partial<Backlog>): Backlog => ({
  waiting: 0,
  active: 0,
  delayed: 0,
  dead: 0,
  oldestWaitingSeconds: 0,
  oldestDelayedSeconds: 0,
  ...part,
});

/** As much of an entry as is read. */
const route = (name: string, dedicated: boolean, part: Partial<RouteEntry> = {}) =>
  ({ namespace: "shop", name, worker: { dedicated }, destinations: [{ id: `${name}/a` }], ...part }) as RouteEntry;

/** The answers for these routes, where 3 copies wait for each inline destination. */
function scaleOf(entries: readonly RouteEntry[], shared: readonly Backlog[] | undefined) {
  const clock = { now: 0, asked: 0 };
  const scale = new Scale({
    entries: (namespace) => (namespace === "shop" ? entries : []),
    now: () => clock.now,
    ledgerFor: () => ({
      stats: async (ids) => new Map(ids.map((id) => [id, backlog({ waiting: 3 })])),
      sharedBacklogs: async () => {
        clock.asked += 1;
        if (shared === undefined) throw new Error("down");
        return { backlogs: new Map(shared.map((one, index) => [`~${index}`, one])) };
      },
    }),
  });
  return { clock, ask: (workers: string) => scale.answer(`/v1/scale/shop/${workers}`) };
}

const value = (is: number) => ({ status: 200, body: { value: is } });
const chosen = { destinationIdFrom: "header:x-id", destinations: [] };

describe("what autoscalers are told", () => {
  it("counts copies for WebhookDestinations to the shared workers, also those that come from routes with workers of their own", async () => {
    const routes = [route("one", false), route("own", true, { sharedCopies: [] })];
    const { ask } = scaleOf(routes, [backlog({ waiting: 5, active: 1 }), backlog({ waiting: 1 })]);
    expect([await ask("shared"), await ask("own")]).toEqual([value(10), value(3)]);
  });

  it("knows shared workers that have nothing but WebhookDestinations to deliver to, and no others", async () => {
    const one = scaleOf([route("one", true, chosen)], [backlog({ active: 2 })]);
    expect([await one.ask("shared"), await one.ask("other")]).toMatchObject([value(2), { status: 404 }]);
    expect(await scaleOf([route("one", true)], []).ask("shared")).toMatchObject({ status: 404 });
  });

  it("asks for no more workers for what is held, open or disabled", async () => {
    const routes = [route("one", false, chosen)];
    expect(await scaleOf(routes, [backlog({ waiting: 50, gate: "Disabled" })]).ask("shared")).toEqual(value(0));
    for (const gate of ["Held", "Open"] as const) {
      expect(await scaleOf(routes, [backlog({ waiting: 50, gate })]).ask("shared")).toEqual(value(1));
    }
  });

  it("looks at WebhookDestinations at most every 5 s, and anew after a failure", async () => {
    const { ask, clock } = scaleOf([route("one", false, chosen)], []);
    await Promise.all([ask("shared"), ask("shared")]);
    clock.now = 4_999;
    await ask("shared");
    expect(clock.asked).toBe(1);
    clock.now = 5_000;
    await ask("shared");
    expect(clock.asked).toBe(2);
    const failing = scaleOf([route("one", false, chosen)], undefined);
    for (let n = 0; n < 2; n++) expect(await failing.ask("shared")).toMatchObject({ status: 503 });
    expect(failing.clock.asked).toBe(2);
  });
});
