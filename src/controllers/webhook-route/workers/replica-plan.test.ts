import { assert, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { handOverPatch, liveReplicas, replicaPlan, STEP_MS, type WantedReplicas } from "./replica-plan.ts";

const NOW = Date.parse("2026-01-02T03:04:05Z");
const AUTOSCALED: WantedReplicas = { type: "autoscaled" };
const fixed = (replicas: number): WantedReplicas => ({ type: "fixed", replicas });

describe("a fixed number of replicas", () => {
  it("is what a new Deployment gets", () => {
    expect(replicaPlan(undefined, fixed(3), NOW)).toEqual({ replicas: 3, owner: "davit" });
  });

  it("is restored at once when somebody scaled by hand", () => {
    expect(replicaPlan({ replicas: 10, owner: "davit" }, fixed(3), NOW)).toEqual({ replicas: 3, owner: "davit" });
  });

  it("is reached at once when it goes up after autoscaling", () => {
    expect(replicaPlan({ replicas: 1, owner: "autoscaler" }, fixed(3), NOW)).toEqual({ replicas: 3, owner: "davit" });
  });

  it("may be 0", () => {
    expect(replicaPlan({ replicas: 1, owner: "davit" }, fixed(0), NOW).replicas).toBe(0);
  });
});

describe("when autoscaling begins", () => {
  it("the live number is applied under another field manager first, and Davit lets go of the field", () => {
    expect(replicaPlan({ replicas: 10, owner: "davit" }, AUTOSCALED, NOW)).toEqual({
      owner: "autoscaler",
      handOver: 10,
    });
  });

  it("is handed over too while replicas step down from an earlier autoscaling", () => {
    const owner = `stepping ${new Date(NOW).toISOString()}`;
    expect(replicaPlan({ replicas: 8, owner }, AUTOSCALED, NOW)).toEqual({ owner: "autoscaler", handOver: 8 });
  });

  it("nothing is handed over twice, nor for a Deployment that is not there", () => {
    expect(replicaPlan({ replicas: 10, owner: "autoscaler" }, AUTOSCALED, NOW)).toEqual({ owner: "autoscaler" });
    expect(replicaPlan(undefined, AUTOSCALED, NOW)).toEqual({ owner: "autoscaler" });
  });
});

describe("when autoscaling ends", () => {
  it("Davit takes the field back at the live number", () => {
    expect(replicaPlan({ replicas: 10, owner: "autoscaler" }, fixed(1), NOW)).toEqual({
      replicas: 10,
      owner: "stepping 2026-01-02T03:04:05.000Z",
      againInMs: STEP_MS,
    });
  });

  it("keeps the number until the next step is due", () => {
    const owner = `stepping ${new Date(NOW - 10_000).toISOString()}`;
    expect(replicaPlan({ replicas: 10, owner }, fixed(1), NOW)).toEqual({
      replicas: 10,
      owner,
      againInMs: STEP_MS - 10_000,
    });
  });

  it("takes the field back first, whatever the annotation says", () => {
    expect(replicaPlan({ replicas: 10, owner: "stepping nonsense" }, fixed(1), NOW).replicas).toBe(10);
  });

  it("reaches the number in steps of at most a fifth, and is done then", () => {
    assert(
      property(integer({ min: 1, max: 1_000 }), integer({ min: 0, max: 1_000 }), (from, target) => {
        let live = { replicas: from, owner: "autoscaler" };
        for (let step = 0; live.owner !== "davit"; step += 1) {
          const plan = replicaPlan(live, fixed(target), NOW + step * STEP_MS);
          const next = plan.replicas ?? Number.NaN;
          expect(live.replicas - next).toBeLessThanOrEqual(Math.max(1, live.replicas / 5));
          live = { replicas: next, owner: plan.owner };
          expect(step).toBeLessThan(100);
        }
        expect(live.replicas).toBe(target);
      }),
    );
  });
});

describe("the hand-over", () => {
  it("is an apply of nothing but the number", () => {
    expect(handOverPatch({ name: "w", namespace: "shop" }, 10)).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "w", namespace: "shop" },
      spec: { replicas: 10 },
    });
  });
});

describe("a live Deployment", () => {
  it("has one replica when nobody said otherwise", () => {
    expect(liveReplicas({ metadata: { name: "w" } })).toEqual({ replicas: 1, owner: undefined });
    expect(liveReplicas(undefined)).toBeUndefined();
  });

  it("says whose its replicas were", () => {
    const metadata = { name: "w", annotations: { "davit.dev/replicas": "autoscaler" } };
    const spec = { replicas: 0, selector: {}, template: {} };
    expect(liveReplicas({ metadata, spec })).toEqual({ replicas: 0, owner: "autoscaler" });
  });
});
