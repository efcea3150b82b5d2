import { describe, expect, it } from "vitest";
import { CALM, listAll, type OpenBucket } from "../conformance/fixtures.ts";
import { storeConformance } from "../conformance/suite.ts";
import { StoreError } from "../store/port.ts";
import { MemoryStore } from "./memory-store.ts";

const open: OpenBucket = ({ objectLock = false, unversioned = false } = {}) => {
  const store = new MemoryStore({ firstAt: Date.now() });
  store.objectLock = objectLock;
  if (unversioned) store.versioning = "Unversioned";
  const owner = {
    put: (key: string, options = {}) => Promise.resolve(store.put(key, { at: Date.now(), ...options })),
    mark: (key: string) => Promise.resolve(store.mark(key, Date.now())),
    release: async (version: { key: string; versionId: string }) => store.protect(version, { legalHold: false }),
    suspendVersioning: async () => {
      store.versioning = "Suspended";
    },
    enableVersioning: async () => {
      store.versioning = "Enabled";
    },
    all: () => Promise.resolve(store.all()),
  };
  return Promise.resolve({ store, deleter: store.deleter(), owner });
};

describe("MemoryStore", () => {
  storeConformance(open);

  it("loses the rest of a key whose marker version is gone, as Ceph does", async () => {
    const store = new MemoryStore();
    store.put("p/a");
    store.put("p/a");
    store.put("p/b");
    const page = await store.listVersions({ prefix: "p/", maxEntries: 1 }, CALM);
    const [marker] = page.entries;
    if (marker === undefined || page.next === undefined) throw new Error("there is no page");
    store.remove(marker);
    const next = await store.listVersions({ prefix: "p/", maxEntries: 10, after: page.next }, CALM);
    expect(next.entries.map(({ key }) => key)).toEqual(["p/b"]);
  });

  it("fails as it is told, before and after a call takes effect", async () => {
    const store = new MemoryStore();
    const version = { key: "p/a", versionId: store.put("p/a") };
    const slow = new StoreError("SlowDown", "slow down", { retryable: true });
    const fail = () => {
      throw slow;
    };
    store.faults = { before: fail };
    await expect(store.deleter().deleteOne(version, CALM)).rejects.toBe(slow);
    expect(store.all()).toHaveLength(1);
    store.faults = { after: fail };
    await expect(store.deleter().deleteOne(version, CALM)).rejects.toBe(slow);
    expect(store.all()).toEqual([]);
  });

  it("gives up with the signal while a call waits, and nobody knows whether it took effect", async () => {
    const store = new MemoryStore();
    const [first, second] = ["p/a", "p/b"].map((key) => ({ key, versionId: store.put(key) }));
    if (first === undefined || second === undefined) throw new Error("there are no versions");
    const giveUp = (patience: AbortController) => () => {
      queueMicrotask(() => patience.abort());
      return new Promise<void>(() => undefined);
    };
    const early = new AbortController();
    store.faults = { before: giveUp(early) };
    await expect(store.deleter().deleteOne(first, early.signal)).rejects.toMatchObject({ code: "Aborted" });
    const late = new AbortController();
    store.faults = { after: giveUp(late) };
    await expect(store.deleter().deleteOne(second, late.signal)).rejects.toMatchObject({ code: "Aborted" });
    expect(store.all().map(({ key }) => key)).toEqual(["p/a"]);
  });

  it("refuses a batch with a key that XML cannot carry, as Ceph does", async () => {
    const store = new MemoryStore();
    const versions = ["p/\u0001", "p/b"].map((key) => ({ key, versionId: store.put(key) }));
    const refusal = { code: "RefusedByStore", retryable: false };
    await expect(store.deleter().deleteBatch(versions, CALM)).rejects.toMatchObject(refusal);
    expect(store.all()).toHaveLength(2);
  });

  it("says of a version what it is told to, and keeps it", async () => {
    const store = new MemoryStore();
    const version = { key: "p/a", versionId: store.put("p/a") };
    store.faults = { outcome: () => ({ type: "unaccounted" }) };
    expect(await store.deleter().deleteBatch([version], CALM)).toEqual([{ type: "unaccounted" }]);
    expect(store.all()).toHaveLength(1);
  });

  it.each([
    ["outside the prefix", (key: string) => ({ entries: [{ ...ENTRY, key: `x${key}` }] })],
    ["back at its beginning", (key: string) => ({ entries: [{ ...ENTRY, key }], next: { key: "p/", versionId: "" } })],
    ["empty and not the last", () => ({ entries: [], next: { key: "p/z", versionId: "1" } })],
    [
      "with a version twice",
      (key: string) => ({
        entries: [
          { ...ENTRY, key },
          { ...ENTRY, key, isLatest: false },
        ],
      }),
    ],
    [
      "with two latest",
      (key: string) => ({
        entries: [
          { ...ENTRY, key },
          { ...ENTRY, key, versionId: "2" },
        ],
      }),
    ],
    [
      "out of order",
      (key: string) => ({
        entries: [
          { ...ENTRY, key },
          { ...ENTRY, key: "p/" },
        ],
      }),
    ],
  ])("does not let a page pass that is %s", async (_, lie) => {
    const store = new MemoryStore();
    store.put("p/a");
    store.faults = { page: () => lie("p/a") };
    await expect(listAll(store, "p/", 2)).rejects.toMatchObject({ code: "InvalidListing", retryable: false });
  });

  it("tells its calls", async () => {
    const store = new MemoryStore();
    await listAll(store, "p/");
    await store.deleter().deleteOne({ key: "p/a", versionId: "v1" }, CALM);
    expect(store.calls.map(({ verb, nth }) => [verb, nth])).toEqual([
      ["listVersions", 1],
      ["delete", 1],
    ]);
  });
});

const ENTRY = { versionId: "1", type: "Version", isLatest: true, lastModified: 0, size: 0 } as const;
