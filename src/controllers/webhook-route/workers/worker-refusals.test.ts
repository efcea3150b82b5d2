import { describe, expect, it } from "vitest";
import { configOf, dedicatedOf } from "../testing-plan.ts";
import { autoscalingProblem } from "./worker-autoscaling.ts";
import { deniedSecrets, unresolvedEnv, workerRefusal } from "./worker-refusals.ts";

const SHARED = configOf({ redis: { urlFile: "/redis/url", users: "Shared" } });
const ENV = [
  { name: "A", value: "1" },
  { name: "B", valueFrom: { secretKeyRef: { name: "labelled", key: "k" } } },
  { name: "C", valueFrom: { secretKeyRef: { name: "bare", key: "k" } } },
  { name: "D", valueFrom: { secretKeyRef: { name: "missing", key: "k" } } },
  { name: "E", valueFrom: { configMapKeyRef: { name: "any", key: "k" } } },
];
const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  labelled: { "davit.dev/use": "true" },
  bare: { "davit.dev/use": "yes" },
};
const labelsOf = (name: string) => LABELS[name];

describe("while one Redis user is shared", () => {
  it.each([
    ["image", { image: "handler:1" }],
    ["env", { env: [{ name: "NODE_OPTIONS", value: "--import=x" }] }],
  ])("a route's own %s is refused, with what helps", (field, dedicated) => {
    const refusal = workerRefusal(dedicatedOf(dedicated), SHARED);
    expect(refusal?.reason).toBe("HandlerNotAllowed");
    expect(refusal?.message).toContain(`spec.worker.dedicated.${field} is refused`);
    expect(workerRefusal(dedicatedOf(dedicated), configOf())).toBeUndefined();
  });

  it("workers of Davit's own image may be dedicated and sized", () => {
    expect(
      workerRefusal(dedicatedOf({ replicas: 2, env: [], resources: { limits: { cpu: 1 } } }), SHARED),
    ).toBeUndefined();
    expect(workerRefusal(undefined, SHARED)).toBeUndefined();
  });
});

describe("variables from Secrets", () => {
  it("need the label that permits their use", () => {
    expect(unresolvedEnv(dedicatedOf({ env: ENV }), labelsOf).map(({ path, reason }) => [path, reason])).toEqual([
      ["spec.worker.dedicated.env[2]", "SecretNotLabelled"],
      ["spec.worker.dedicated.env[3]", "SecretNotFound"],
    ]);
  });

  it("are denied without the label, and before there is a Secret that could have it: a Pod that waits for it would start with it", () => {
    expect(deniedSecrets(dedicatedOf({ env: ENV }), labelsOf)).toEqual(new Set(["bare", "missing"]));
    expect(deniedSecrets(undefined, labelsOf)).toEqual(new Set());
  });
});

describe("autoscaling that this cluster cannot do", () => {
  const scope = { namespace: "shop", route: "orders" };

  it("is KEDA's without KEDA", () => {
    const dedicated = dedicatedOf({ autoscaling: { type: "KEDA", max: 2 } });
    expect(autoscalingProblem({ scope, dedicated, hasKeda: false })).toMatchObject({
      reason: "AutoscalingUnavailable",
      message: expect.stringContaining("install KEDA"),
    });
    expect(autoscalingProblem({ scope, dedicated, hasKeda: true })).toBeUndefined();
  });

  it("is an HPA's for a name that no selector can hold", () => {
    const dedicated = dedicatedOf({ autoscaling: { type: "HPA", max: 2 } });
    const long = { namespace: "shop", route: "r".repeat(64) };
    expect(autoscalingProblem({ scope: long, dedicated, hasKeda: false })?.reason).toBe("AutoscalingUnavailable");
    expect(autoscalingProblem({ scope, dedicated, hasKeda: false })).toBeUndefined();
  });
});
