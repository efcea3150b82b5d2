import { describe, expect, it } from "vitest";
import { CustodyError, type ClaimResult, type NewEvent } from "../../custody/port.ts";
import { claimAll } from "./claim-all.ts";
import type { Publishable } from "./published-event.ts";

const items = (count: number): Publishable[] =>
  Array.from({ length: count }, (_, n) => ({ event: { id: `e-${n}` } as NewEvent, idFrom: "id" }));

/** An inbox whose answers a test gives. */
function scripted(answer: (n: number) => Promise<ClaimResult>) {
  const claimed: string[] = [];
  const claim = (event: NewEvent) => {
    claimed.push(event.id);
    return answer(claimed.length - 1);
  };
  return { claim, claimed };
}

const taken = async (n: number): Promise<ClaimResult> => ({ outcome: "new", id: `e-${n}` });

describe("claiming the events of a request", () => {
  it("keeps their order, in groups of 64 that wait for each other", async () => {
    const open: (() => void)[] = [];
    const inbox = scripted(async (n) => {
      await new Promise<void>((resolve) => open.push(resolve));
      return taken(n);
    });
    const all = claimAll(items(130), inbox, 60_000);
    const sizes: number[] = [];
    for (let rest = 130; rest > 0; rest -= 64) {
      await new Promise((resolve) => setImmediate(resolve));
      sizes.push(open.length);
      for (const resolve of open.splice(0)) resolve();
    }
    expect(sizes).toEqual([64, 64, 2]);
    expect((await all).map((result) => "id" in result && result.id)).toEqual(items(130).map(({ event }) => event.id));
  });

  it("tries none any more after a group in which one was not confirmed", async () => {
    const inbox = scripted((n) => (n === 70 ? Promise.reject(new CustodyError("Unreachable", "gone")) : taken(n)));
    const results = await claimAll(items(200), inbox, 60_000);
    expect(inbox.claimed).toHaveLength(128);
    expect(results.map(({ status }) => status === "accepted")).toEqual(
      Array.from({ length: 200 }, (_, n) => n < 128 && n !== 70),
    );
  });

  it("passes over what is refused already, and tells a full store from one that is away", async () => {
    const refused = { code: "EventTooLarge", message: "too large" } as const;
    const inbox = scripted(() => Promise.reject(new CustodyError("OutOfMemory", "full")));
    const results = await claimAll([refused, ...items(1)], inbox, 60_000);
    expect(results).toEqual([
      { status: "error", error: refused },
      { status: "error", error: { code: "StoreFull", message: expect.any(String) as string } },
    ]);
    expect(inbox.claimed).toEqual(["e-0"]);
  });

  it("waits no longer than it is told", async () => {
    const inbox = scripted(() => new Promise<never>(() => undefined));
    const [result] = await claimAll(items(1), inbox, 5);
    expect(result).toMatchObject({ status: "error", error: { code: "NotStored" } });
  });
});
