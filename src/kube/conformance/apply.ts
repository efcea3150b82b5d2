import { beforeEach, expect, test } from "vitest";
import type { KubeClient } from "../client.ts";
import { CONFIG_MAPS, PODS } from "../core-types.ts";
import { HeartbeatLease } from "../heartbeat-lease.ts";
import { clientOf, failsWith, type ConformanceServer } from "./fixtures.ts";

const OTHER_UID = "00000000-0000-4000-8000-000000000001";

/** Server-side apply. */
export function applyConformance(server: () => ConformanceServer): void {
  let client: KubeClient;
  let namespace: string;
  beforeEach(async () => {
    client = clientOf(server().auth);
    namespace = await server().namespace();
  });
  const maps = () => client.resource(CONFIG_MAPS);
  const ref = () => ({ namespace, name: "a" });
  const map = (data: Record<string, string>) => ({ metadata: ref(), data });

  test("creates what is not there, and changes nothing when all is as it should be", async () => {
    const created = await maps().apply(map({ k: "1" }), { fieldManager: "one" });
    const again = await maps().apply(map({ k: "1" }), { fieldManager: "one" });
    expect(again.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });

  test("removes what the manager applied before and does not any more; what others set stays", async () => {
    await maps().apply(map({ k: "1", l: "1" }), { fieldManager: "one" });
    await maps().mergePatch(ref(), { data: { other: "1" } }, {});
    const { data } = await maps().apply(map({ k: "2" }), { fieldManager: "one" });
    expect(data).toEqual({ k: "2", other: "1" });
  });

  test("a field of another manager is a Conflict; force takes it, and then the other has the conflict", async () => {
    await maps().apply(map({ k: "1" }), { fieldManager: "one" });
    await failsWith(maps().apply(map({ k: "2" }), { fieldManager: "two" }), "Conflict");
    await expect(maps().apply(map({ k: "2" }), { fieldManager: "two" })).rejects.toMatchObject({
      causes: ["FieldManagerConflict"],
    });
    await maps().apply(map({ k: "2" }), { fieldManager: "two", force: true });
    await failsWith(maps().apply(map({ k: "1" }), { fieldManager: "one" }), "Conflict");
    expect((await maps().get(ref())).data).toEqual({ k: "2" });
  });

  test("two managers may agree on a value", async () => {
    await maps().apply(map({ k: "1" }), { fieldManager: "one" });
    await maps().apply(map({ k: "1" }), { fieldManager: "two" });
    const { data } = await maps().apply(map({}), { fieldManager: "one" });
    expect(data).toEqual({ k: "1" });
  });

  test("restores by force what somebody changed by hand", async () => {
    await maps().apply(map({ k: "1" }), { fieldManager: "one" });
    await maps().mergePatch(ref(), { data: { k: "by hand" } }, {});
    await failsWith(maps().apply(map({ k: "1" }), { fieldManager: "one" }), "Conflict");
    const { data } = await maps().apply(map({ k: "1" }), { fieldManager: "one", force: true });
    expect(data).toEqual({ k: "1" });
  });

  test("with uid and version it overwrites nothing newer, not even by force", async () => {
    const first = await maps().apply(map({ k: "1" }), { fieldManager: "one" });
    const { uid, resourceVersion } = first.metadata;
    const second = await maps().apply(map({ k: "2" }), { fieldManager: "one", force: true, uid, resourceVersion });
    const late = { fieldManager: "one", force: true, uid, resourceVersion };
    await failsWith(maps().apply(map({ k: "late" }), late), "Conflict");
    expect(await maps().get(ref())).toEqual(second);
  });

  test("with the uid of an object that is gone it makes no new one, and does not touch its successor", async () => {
    const { metadata } = await maps().apply(map({ k: "1" }), { fieldManager: "one" });
    const late = { fieldManager: "one", force: true, uid: metadata.uid };
    await maps().delete(ref());
    await failsWith(maps().apply(map({ k: "late" }), late), "Conflict");
    expect(await maps().find(ref())).toBeUndefined();
    await maps().create(map({ k: "successor" }));
    await failsWith(maps().apply(map({ k: "late" }), late), "Conflict");
    expect((await maps().get(ref())).data).toEqual({ k: "successor" });
  });

  test("a version without the uid is not even sent: the server would make a new object", async () => {
    await expect(maps().apply(map({}), { fieldManager: "one", resourceVersion: "5" })).rejects.toThrow(TypeError);
    expect(await maps().find(ref())).toBeUndefined();
    const both = { fieldManager: "one", uid: OTHER_UID, resourceVersion: "5" };
    await expect(maps().apply(map({}), both)).rejects.toMatchObject({ code: "Conflict" });
    expect(await maps().find(ref())).toBeUndefined();
  });

  test("status is applied apart from the rest", async () => {
    const pods = client.resource(PODS);
    const containers = [{ name: "c", image: "example.com/none" }];
    const pod = await pods.create({ metadata: ref(), spec: { containers } });
    const applied = await pods.applyStatus({ metadata: ref(), status: { reason: "Testing" } }, { fieldManager: "one" });
    expect(applied.status?.reason).toBe("Testing");
    expect(applied.metadata.generation).toBe(pod.metadata.generation);
    const unchanged = await pods.apply({ metadata: ref() }, { fieldManager: "two" });
    expect(unchanged.status?.reason).toBe("Testing");
  });

  test("status of an object that does not exist is NotFound", async () => {
    const call = client.resource(PODS).applyStatus({ metadata: ref(), status: {} }, { fieldManager: "one" });
    await expect(call).rejects.toMatchObject({ code: "NotFound" });
  });

  test("a heartbeat lease is made, renewed, and carries just the newest annotations", async () => {
    const clock = { now: () => Date.parse("2030-01-02T03:04:05.678Z"), monotonic: () => 0 };
    const settings = { namespace, name: "gateway-1", identity: "gateway-1", fieldManager: "gateway", clock };
    const lease = new HeartbeatLease({ client, ...settings, leaseDurationSeconds: 30, labels: { part: "gateway" } });
    const first = await lease.beat({ "example.com/seq": "1", "example.com/rejected": "2" });
    const second = await lease.beat({ "example.com/seq": "2" });
    expect(second.metadata).toMatchObject({ uid: first.metadata.uid, annotations: { "example.com/seq": "2" } });
    expect(second.metadata.annotations).not.toHaveProperty("example.com/rejected");
    expect(second.spec).toMatchObject({ holderIdentity: "gateway-1", renewTime: "2030-01-02T03:04:05.678000Z" });
  });
}
