import { describe, expect, it } from "vitest";
import type { CopyState, EventView } from "../../custody/port.ts";
import { QueuedRuns } from "./queued-runs.ts";

const REF = { namespace: "shop", policy: "labels", runId: "r-1" };
const ROUTE = { route: "0123456789abcdef", destinations: ["0123456789abcdef/cleanup"] };

const eventOf = (
  id: string,
  state: CopyState,
  { receivedAt = 1_000, destination = ROUTE.destinations[0] ?? "" } = {},
) =>
  ({
    id,
    route: ROUTE.route,
    receivedAt,
    copies: [{ destination, state, attempts: state === "dead" ? [{ reason: "GiveUpAfter" }] : [] }],
  }) as unknown as EventView;

/** What looks among these events, and how often it searched and read one. */
function looking(events: EventView[], routes = [ROUTE]) {
  const seen = { searches: [] as unknown[], reads: 0 };
  let gate: Promise<void> = Promise.resolve();
  const queued = new QueuedRuns({
    door: { cleaning: () => routes },
    ledgerFor: () => ({
      event: async (id) => {
        seen.reads += 1;
        return events.find((event) => event.id === id);
      },
      findByProviderId: async (query) => {
        seen.searches.push(query);
        await gate;
        return events.map((event) => ({ eventId: event.id, receivedAt: event.receivedAt, event }));
      },
    }),
  });
  return {
    queued,
    seen,
    hold: () => {
      let open = () => {};
      gate = new Promise((resolve) => (open = resolve));
      return open;
    },
  };
}

describe("what custody says of a run that is not made", () => {
  it.each([
    ["waiting", "Pending", "Queued"],
    ["active", "Pending", "Queued"],
    ["delayed", "Pending", "Queued"],
    ["shelved", "Pending", "Queued"],
    ["dead", "Failed", "GiveUpAfter"],
    ["expired", "Failed", "Expired"],
    ["cancelled", "Cancelled", "EventCancelled"],
    ["discarded", "Cancelled", "EventCancelled"],
  ] satisfies [CopyState, string, string][])(
    "is, of a copy that is %s, %s with the reason %s",
    async (state, phase, reason) => {
      const { queued } = looking([eventOf("e", state)]);
      expect(await queued.find(REF)).toEqual({
        runId: "r-1",
        phase,
        reason,
        message: expect.stringContaining("event e "),
        eventId: "e",
        receivedAt: "1970-01-01T00:00:01.000Z",
      });
    },
  );

  it("is that it was made, of a copy that was delivered", async () => {
    expect(await looking([eventOf("e", "delivered")]).queued.find(REF)).toBe("delivered");
  });

  it("is nothing without such a route, without such an event, and of copies that ask for none", async () => {
    expect(await looking([eventOf("e", "waiting")], []).queued.find(REF)).toBe("unknown");
    expect(await looking([]).queued.find(REF)).toBe("unknown");
    expect(await looking([eventOf("e", "ignored")]).queued.find(REF)).toBe("unknown");
    const other = eventOf("e", "waiting", { destination: "0123456789abcdef/audit" });
    expect(await looking([other]).queued.find(REF)).toBe("unknown");
  });

  it("goes by the event that may still make the run, else by the newest that did not", async () => {
    const older = eventOf("older", "waiting", { receivedAt: 1 });
    const dead = eventOf("dead", "dead", { receivedAt: 2 });
    const newer = eventOf("newer", "dead", { receivedAt: 3 });
    expect(await looking([newer, dead, older]).queued.find(REF)).toMatchObject({ eventId: "older" });
    expect(await looking([dead, newer]).queued.find(REF)).toMatchObject({ eventId: "newer" });
  });
});

describe("looking for it", () => {
  it("searches once for who polls, as long as that event may make the run", async () => {
    const events = [eventOf("e", "waiting")];
    const { queued, seen } = looking(events);
    await queued.find(REF);
    await queued.find(REF);
    await queued.find({ ...REF, runId: "r-1" });
    expect([seen.searches.length, seen.reads]).toEqual([1, 2]);
    events.splice(0, 1, eventOf("e", "dead"), eventOf("again", "waiting", { receivedAt: 2_000 }));
    expect(await queued.find(REF)).toMatchObject({ eventId: "again" });
    expect(seen.searches).toHaveLength(2);
  });

  it("goes by the kept run id, in at most 8 routes", async () => {
    const { queued, seen } = looking(
      [],
      Array.from({ length: 20 }, (_, n) => ({ ...ROUTE, route: `r-${n}` })),
    );
    await queued.find(REF);
    expect(seen.searches).toHaveLength(8);
    expect(seen.searches[0]).toEqual({
      route: "r-0",
      id: "r-1",
      marks: [],
      windows: [],
      headers: ["davit-cleanup-run"],
    });
  });

  it("does not search for more than two at a time, and turns away who would wait behind 64", async () => {
    const { queued, seen, hold } = looking([eventOf("e", "waiting")]);
    const open = hold();
    const asked = Array.from({ length: 67 }, (_, n) => queued.find({ ...REF, runId: `r-${n}` }));
    expect(await asked[66]).toBe("busy");
    expect(seen.searches).toHaveLength(2);
    open();
    expect((await Promise.all(asked)).filter((one) => one === "busy")).toHaveLength(1);
  });
});
