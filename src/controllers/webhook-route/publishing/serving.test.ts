import { describe, expect, test } from "vitest";
import { servingLeaseName } from "../../../api/names.ts";
import type { Lease, Pod } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import { ServingGateways } from "./serving.ts";

const pod = (name: string, ready = true, uid = `uid-${name}`): Live<Pod> => ({
  metadata: { name, uid, resourceVersion: "1" },
  status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
});
const lease = (
  name: string,
  seq: number,
  more: { renewTime?: string; rejected?: string; podUid?: string } = {},
): Live<Lease> => ({
  metadata: {
    name: servingLeaseName(name),
    uid: "u",
    resourceVersion: "1",
    annotations: { "davit.dev/served-seq": String(seq), ...(more.rejected && { "davit.dev/rejected": more.rejected }) },
    ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid: more.podUid ?? `uid-${name}` }],
  },
  spec: { renewTime: more.renewTime ?? "a" },
});

function gateways() {
  const clock = { now: () => time.now, monotonic: () => time.now };
  const time = { now: 1_000 };
  const all = new ServingGateways(clock);
  const hear = (name: string, ...rest: [number, Parameters<typeof lease>[2]?]) =>
    all.putLease(servingLeaseName(name), lease(name, ...rest));
  return { time, all, hear };
}

describe("gateways", () => {
  test("have reached what the slowest Ready one has, leaving out those that fell silent", () => {
    const { time, all, hear } = gateways();
    for (const name of ["a", "b"]) all.putPod(name, pod(name));
    all.putPod("starting", pod("starting", false));
    hear("a", 10);
    hear("b", 7);
    expect(all.reached(30_000)).toBe(7);
    time.now += 31_000;
    hear("a", 12, { renewTime: "b" });
    expect(all.reached(30_000)).toBe(12);
    all.putPod("a", undefined);
    expect(all.reached(30_000)).toBe(0);
  });

  test("are news when they have come further or reject something, not when they merely live", () => {
    const { hear } = gateways();
    expect(hear("a", 10)).toBe(true);
    expect(hear("a", 10, { renewTime: "b" })).toBe(false);
    expect(hear("a", 11, { renewTime: "c" })).toBe(true);
    expect(hear("a", 11, { renewTime: "d", rejected: '{"davit-route-1":11}' })).toBe(true);
  });

  test("show what each of them has of one publication, and when it was heard by our own clock", () => {
    const { time, all, hear } = gateways();
    all.putPod("a", pod("a"));
    all.putPod("silent", pod("silent"));
    hear("a", 11, { rejected: '{"davit-route-1":11,"odd":"x"}' });
    time.now += 5_000;
    expect(all.seenBy("davit-route-1")).toEqual([
      { name: "a", isReady: true, renewedAt: 1_000, servedSeq: 11, rejectedSeq: 11 },
      { name: "silent", isReady: true },
    ]);
    expect(all.seenBy("davit-route-2")[0]).not.toHaveProperty("rejectedSeq");
  });

  test("do not answer for a Pod that had their name before", () => {
    const { all, hear } = gateways();
    all.putPod("a", pod("a", true, "uid-new"));
    hear("a", 11);
    expect(all.seenBy("x")).toEqual([{ name: "a", isReady: true }]);
  });

  test("tell when a Pod becomes Ready or stops being so", () => {
    const { all } = gateways();
    expect(all.putPod("a", pod("a", false))).toBe(false);
    expect(all.putPod("a", pod("a"))).toBe(true);
    expect(all.putPod("a", pod("a"))).toBe(false);
    expect(all.putPod("a", undefined)).toBe(true);
  });
});
