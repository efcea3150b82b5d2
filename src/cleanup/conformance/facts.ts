import { expect, test } from "vitest";
import { CALM, line, listAll, type OpenBucket } from "./fixtures.ts";

/** What a store tells of a bucket and of one version. */
export function factsConformance(open: OpenBucket): void {
  test("tells how the bucket is set up", async () => {
    const { store, owner } = await open();
    expect(await store.bucketState(CALM)).toEqual({ versioning: "Enabled", mfaDelete: false, objectLock: false });
    await owner.suspendVersioning();
    expect(await store.bucketState(CALM)).toMatchObject({ versioning: "Suspended" });
    const plain = await open({ unversioned: true });
    expect(await plain.store.bucketState(CALM)).toMatchObject({ versioning: "Unversioned" });
    const locked = await open({ objectLock: true });
    expect(await locked.store.bucketState(CALM)).toMatchObject({ versioning: "Enabled", objectLock: true });
  });

  test("gives objects of a bucket without versioning the version null", async () => {
    const { store, owner } = await open({ unversioned: true });
    await owner.put("p/a");
    await owner.put("p/a");
    expect(await listAll(store, "p/")).toMatchObject([{ key: "p/a", versionId: "null", isLatest: true }]);
  });

  test("keeps the version null beneath those written since versioning is enabled", async () => {
    const { store, owner } = await open();
    await owner.suspendVersioning();
    await owner.put("p/a");
    await owner.enableVersioning();
    const young = await owner.put("p/a");
    expect((await listAll(store, "p/")).map(line)).toEqual([`p/a ${young} Version latest`, "p/a null Version"]);
    expect(await store.head({ key: "p/a", versionId: "null" }, CALM)).toMatchObject({ exists: true });
  });

  test("puts another object in the place of the version null while versioning is suspended", async () => {
    const { store, owner } = await open();
    const old = await owner.put("p/a");
    await owner.suspendVersioning();
    await owner.put("p/a", { body: "1" });
    await owner.put("p/a", { body: "22" });
    const entries = await listAll(store, "p/");
    expect(entries.map(line)).toEqual(["p/a null Version latest", `p/a ${old} Version`]);
    expect(entries[0]?.size).toBe(2);
  });

  test("tells of a version that is there, is not, and is gone", async () => {
    const { store, deleter, owner } = await open();
    const version = { key: "p/a", versionId: await owner.put("p/a") };
    const another = { key: "p/a", versionId: await owner.put("p/a") };
    const listed = (await listAll(store, "p/")).find(({ versionId }) => versionId === version.versionId);
    const head = await store.head(version, CALM);
    expect(head).toMatchObject({ exists: true, tagCount: 0, legalHold: false });
    expect(head).not.toHaveProperty("retention");
    // A header has whole seconds.
    expect(head).toHaveProperty("lastModified", Math.floor((listed?.lastModified ?? 0) / 1_000) * 1_000);
    await deleter.deleteOne(version, CALM);
    expect(await store.head(version, CALM)).toEqual({ exists: false });
    expect(await store.head(another, CALM)).toMatchObject({ exists: true });
    expect(await store.head({ key: "p/never", versionId: version.versionId }, CALM)).toEqual({ exists: false });
    expect(await store.tags(version, CALM)).toEqual([]);
  });

  test("has no facts of a delete marker, nor hides with it those of the version below", async () => {
    const { store, owner } = await open();
    const below = { key: "p/a", versionId: await owner.put("p/a") };
    const marker = { key: "p/a", versionId: await owner.mark("p/a") };
    expect(await store.head(marker, CALM)).toEqual({ exists: false });
    expect(await store.tags(marker, CALM)).toEqual([]);
    expect(await store.head(below, CALM)).toMatchObject({ exists: true });
  });

  test("tells a delete marker that is there from one that is not, and from a version", async () => {
    const { store, deleter, owner } = await open();
    const key = "p/a+b %2F";
    const below = { key, versionId: await owner.put(key) };
    const older = { key, versionId: await owner.mark(key) };
    const between = { key, versionId: await owner.put(key) };
    const newer = { key, versionId: await owner.mark(key) };
    await owner.put(`${key}/c`);
    const markers = [older, newer];
    for (const marker of markers) expect(await store.hasMarker(marker, CALM)).toBe(true);
    for (const version of [below, between]) expect(await store.hasMarker(version, CALM)).toBe(false);
    await deleter.deleteOne(newer, CALM);
    expect(await store.hasMarker(newer, CALM)).toBe(false);
    expect(await store.hasMarker(older, CALM)).toBe(true);
    expect(await store.hasMarker({ key: "p/a", versionId: older.versionId }, CALM)).toBe(false);
    expect(await store.hasMarker({ key: "q", versionId: older.versionId }, CALM)).toBe(false);
  });

  test("tells tags of each version apart", async () => {
    const { store, owner } = await open();
    const tags = [
      { key: "dispute", value: "open" },
      { key: "b", value: "" },
    ];
    const tagged = { key: "p/a", versionId: await owner.put("p/a", { tags }) };
    const plain = { key: "p/a", versionId: await owner.put("p/a") };
    expect(await store.head(tagged, CALM)).toMatchObject({ tagCount: 2 });
    expect(new Set(await store.tags(tagged, CALM))).toEqual(new Set(tags));
    expect(await store.head(plain, CALM)).toMatchObject({ tagCount: 0 });
    expect(await store.tags(plain, CALM)).toEqual([]);
  });

  test("tells legal hold and retention", async () => {
    const { store, owner } = await open({ objectLock: true });
    const until = Math.ceil(Date.now() / 1_000) * 1_000 + 2_000;
    const held = { key: "p/a", versionId: await owner.put("p/a", { legalHold: true }) };
    const retention = { mode: "Governance", until } as const;
    const retained = { key: "p/b", versionId: await owner.put("p/b", { retention }) };
    expect(await store.head(held, CALM)).toMatchObject({ exists: true, legalHold: true });
    expect(await store.head(retained, CALM)).toMatchObject({ exists: true, legalHold: false, retention });
    await expect(store.probeLockRights(retained, CALM)).resolves.toBeUndefined();
    await owner.release(held);
    expect(await store.head(held, CALM)).toMatchObject({ legalHold: false });
  });

  test.for([true, false])(
    "takes a version without locks for no lack of rights (bucket with locks: %s)",
    async (objectLock) => {
      const { store, owner } = await open({ objectLock });
      const version = { key: "p/a", versionId: await owner.put("p/a") };
      await expect(store.probeLockRights(version, CALM)).resolves.toBeUndefined();
    },
  );

  test("tells nothing to who gave up", async () => {
    const { store, owner } = await open();
    const version = { key: "p/a", versionId: await owner.put("p/a") };
    const gone = AbortSignal.abort();
    const calls = [
      store.bucketState(gone),
      store.head(version, gone),
      store.hasMarker(version, gone),
      store.tags(version, gone),
      store.probeLockRights(version, gone),
      store.read("p/a", 10, gone),
    ];
    for (const { status, reason } of (await Promise.allSettled(calls)).map((end) => ({ reason: undefined, ...end }))) {
      expect(status).toBe("rejected");
      expect(reason).toMatchObject({ name: "StoreError", code: "Aborted" });
    }
  });

  test("knows how far its clock is from this one", async () => {
    const { store } = await open();
    await store.bucketState(CALM);
    expect(Math.abs(store.clockSkewMs() ?? Number.NaN)).toBeLessThan(60_000);
  });
}
