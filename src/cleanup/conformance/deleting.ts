import { expect, test } from "vitest";
import { type DeleteOutcome, MAX_BATCH, StoreError, type VersionId } from "../store/port.ts";
import { CALM, line, listAll, type OpenBucket } from "./fixtures.ts";

const DELETED: DeleteOutcome = { type: "deleted" };

/** How versions are deleted, and what keeps them. */
export function deletingConformance(open: OpenBucket): void {
  test("deletes the versions that are named and no others", async () => {
    const { store, deleter, owner } = await open();
    const old = await owner.put("p/a");
    const young = await owner.put("p/a");
    const other = await owner.put("p/b");
    expect(await deleter.deleteBatch([{ key: "p/a", versionId: old }], CALM)).toEqual([DELETED]);
    expect((await owner.all()).map(line)).toEqual([`p/a ${young} Version latest`, `p/b ${other} Version latest`]);
    expect(await deleter.deleteOne({ key: "p/b", versionId: other }, CALM)).toEqual(DELETED);
    expect((await listAll(store, "p/")).map(line)).toEqual([`p/a ${young} Version latest`]);
  });

  test("shows an older version again when the latest goes, also from under a delete marker", async () => {
    const { deleter, owner } = await open();
    const old = await owner.put("p/a");
    const marker = await owner.mark("p/a");
    await deleter.deleteOne({ key: "p/a", versionId: marker }, CALM);
    expect((await owner.all()).map(line)).toEqual([`p/a ${old} Version latest`]);
  });

  test("says that an absent version is deleted, and writes no delete marker", async () => {
    const { deleter, owner } = await open();
    const version = { key: "p/a", versionId: await owner.put("p/a") };
    await deleter.deleteBatch([version], CALM);
    expect(await deleter.deleteBatch([version], CALM)).toEqual([DELETED]);
    expect(await deleter.deleteOne(version, CALM)).toEqual(DELETED);
    expect(await owner.all()).toEqual([]);
  });

  test("gives an outcome for each version, also for one that is named twice", async () => {
    const { deleter, owner } = await open();
    const version = { key: "p/a", versionId: await owner.put("p/a") };
    expect(await deleter.deleteBatch([version, version], CALM)).toEqual([DELETED, DELETED]);
  });

  test("refuses a batch that is empty or too large before anything is sent", async () => {
    const { deleter, owner } = await open();
    const version: VersionId = { key: "p/a", versionId: await owner.put("p/a") };
    const many = Array.from({ length: MAX_BATCH + 1 }, () => version);
    await expect(deleter.deleteBatch(many, CALM)).rejects.toMatchObject({ code: "BatchTooLarge", retryable: false });
    await expect(deleter.deleteBatch([], CALM)).rejects.toMatchObject({ code: "BatchTooLarge" });
    expect(await owner.all()).toHaveLength(1);
  });

  test("deletes a key with a control character by the call for one version", async () => {
    const { store, deleter, owner } = await open();
    const versionId = await owner.put("p/\u0001a");
    expect((await listAll(store, "p/")).map(({ key }) => key)).toEqual(["p/\u0001a"]);
    expect(await deleter.deleteOne({ key: "p/\u0001a", versionId }, CALM)).toEqual(DELETED);
    expect(await owner.all()).toEqual([]);
  });

  test("deletes nothing of a batch that it refuses for a key with a control character", async () => {
    const { deleter, owner } = await open();
    const odd = { key: "p/\u0001a", versionId: await owner.put("p/\u0001a") };
    const plain = { key: "p/b", versionId: await owner.put("p/b") };
    const answer = await deleter.deleteBatch([odd, plain], CALM).catch((error: unknown) => error);
    // A store may take it.
    expect(await owner.all()).toHaveLength(answer instanceof StoreError ? 2 : 0);
  });

  test("deletes no version null and none without an id, but the others of their batch", async () => {
    const { deleter, owner } = await open();
    await owner.suspendVersioning();
    await owner.put("p/a");
    const none = ["null", ""].map((versionId) => ({ key: "p/a", versionId }));
    for (const version of none) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other is gentler with the store
      expect(await deleter.deleteOne(version, CALM)).toMatchObject({ type: "refused", retryable: false });
    }
    const absent = { key: "p/a", versionId: "never" };
    expect(await deleter.deleteBatch([...none, absent], CALM)).toMatchObject([
      { type: "refused", retryable: false },
      { type: "refused", retryable: false },
      {},
    ]);
    expect(await owner.all()).toMatchObject([{ key: "p/a", versionId: "null", type: "Version" }]);
  });

  test("deletes nothing for who gave up", async () => {
    const { deleter, owner } = await open();
    const version = { key: "p/a", versionId: await owner.put("p/a") };
    const aborted = { name: "StoreError", code: "Aborted" };
    await expect(deleter.deleteBatch([version], AbortSignal.abort())).rejects.toMatchObject(aborted);
    await expect(deleter.deleteOne(version, AbortSignal.abort())).rejects.toMatchObject(aborted);
    expect(await owner.all()).toHaveLength(1);
  });

  test("refuses a version under legal hold, and deletes the others of its batch", async () => {
    const { deleter, owner } = await open({ objectLock: true });
    const held = { key: "p/a", versionId: await owner.put("p/a", { legalHold: true }) };
    const free = { key: "p/b", versionId: await owner.put("p/b") };
    const [first, second] = await deleter.deleteBatch([held, free], CALM);
    expect(first).toMatchObject({ type: "refused", retryable: false });
    expect(second).toEqual(DELETED);
    expect(await deleter.deleteOne(held, CALM)).toMatchObject({ type: "refused", retryable: false });
    await owner.release(held);
    expect(await deleter.deleteOne(held, CALM)).toEqual(DELETED);
  });

  test.for(["Governance", "Compliance"] as const)("refuses a version until its %s retention ends", async (mode) => {
    const { deleter, owner } = await open({ objectLock: true });
    const until = Date.now() + 3_000;
    const version = { key: "p/a", versionId: await owner.put("p/a", { retention: { mode, until } }) };
    expect(await deleter.deleteOne(version, CALM)).toMatchObject({ type: "refused", retryable: false });
    expect(await deleter.deleteBatch([version], CALM)).toMatchObject([{ type: "refused" }]);
    await expect.poll(() => deleter.deleteOne(version, CALM), { timeout: 15_000, interval: 500 }).toEqual(DELETED);
  });
}
