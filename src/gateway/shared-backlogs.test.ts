import { describe, expect, it } from "vitest";
import type { Backlog, Backlogs } from "../custody/backlog.ts";
import { allSharedBacklogs, SharedBacklogWatch } from "./shared-backlogs.ts";

const backlog = (waiting: number): Backlog => ({
  waiting,
  active: 0,
  delayed: 0,
  dead: 0,
  oldestWaitingSeconds: 0,
  oldestDelayedSeconds: 0,
});

/** A store that answers with one destination a page, and remembers what it was asked. */
function storeOf(lying: Map<string, number>) {
  const asked: { readonly cursor?: string; readonly deliveries?: boolean }[] = [];
  const sharedBacklogs: Backlogs["sharedBacklogs"] = async (query) => {
    asked.push(query);
    const ids = [...lying.keys()].toSorted().filter((id) => id > (query.cursor ?? "~"));
    const [id] = ids;
    const backlogs = new Map(id === undefined ? [] : [[id, backlog(lying.get(id) ?? 0)]]);
    return { backlogs, ...(id !== undefined && ids.length > 1 && { next: id }) };
  };
  return { asked, sharedBacklogs };
}

const waitingOf = (all: readonly Backlog[]) => all.map(({ waiting }) => waiting);

describe("SharedBacklogWatch", () => {
  it("looks at so many pages, goes on where it was, and begins anew after a while", async () => {
    const store = storeOf(
      new Map([
        ["~a", 1],
        ["~b", 2],
        ["~c", 3],
      ]),
    );
    let now = 0;
    const watch = new SharedBacklogWatch({ ledger: store, now: () => now });
    await watch.look(2);
    expect(waitingOf(watch.all)).toEqual([1, 2]);
    now += 1_000;
    await watch.look(2);
    expect(waitingOf(watch.all)).toEqual([1, 2, 3]);
    expect(store.asked.map(({ cursor }) => cursor)).toEqual(["~", "~a", "~b"]);
    now += 3_999;
    await watch.look(2);
    expect(store.asked).toHaveLength(3);
    now += 1;
    await watch.look(2);
    expect(store.asked).toHaveLength(5);
  });

  it("forgets those of a page that are empty or gone by now, and no others", async () => {
    const lying = new Map([
      ["~a", 1],
      ["~b", 2],
      ["~c", 3],
    ]);
    const watch = new SharedBacklogWatch({ ledger: storeOf(lying), now: () => 0, roundMs: 0 });
    await watch.look(3);
    lying.delete("~b");
    lying.set("~a", 5);
    await watch.look(1);
    expect(waitingOf(watch.of(["~a", "~b", "~c", "~d"]))).toEqual([5, 2, 3]);
    await watch.look(1);
    expect(waitingOf(watch.of(["~a", "~b", "~c", "~d"]))).toEqual([5, 3]);
  });

  it("asks for deliveries only while something waits", async () => {
    const lying = new Map([["~a", 1]]);
    const store = storeOf(lying);
    const watch = new SharedBacklogWatch({ ledger: store, now: () => 0, roundMs: 0 });
    await watch.look(1);
    await watch.look(1);
    lying.clear();
    await watch.look(1);
    await watch.look(1);
    expect(store.asked.map(({ deliveries }) => deliveries)).toEqual([false, true, true, false]);
  });
});

describe("allSharedBacklogs", () => {
  it("asks for every page", async () => {
    expect(
      waitingOf(
        await allSharedBacklogs(
          storeOf(
            new Map([
              ["~a", 1],
              ["~b", 2],
            ]),
          ),
        ),
      ),
    ).toEqual([1, 2]);
  });
});
