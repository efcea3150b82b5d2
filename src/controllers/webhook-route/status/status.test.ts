import { describe, expect, it } from "vitest";
import { REASONS } from "../../../api/conditions.ts";
import { checkStructure } from "../../../api/validation.ts";
import type { WebhookRoute, WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import { entryOf, routeOf, secretsOf } from "../../../routes/testing.ts";
import type { Observed } from "../observing/gateway-observations.ts";
import { conditionOf } from "./conditions.ts";
import { routeStatus, sameStatus } from "./status.ts";
import type { GatewayPod, LiveDeployment, RouteStatusInput } from "./status-input.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const LATER = NOW + 3_600_000;
const ENTRY = { ...entryOf({ now: NOW }), seq: 7 };
const TRUE = { status: "True", reason: "Reconciled", message: "" } as const;

function route(
  more: { status?: WebhookRouteStatus; generation?: number; spec?: Partial<WebhookRoute["spec"]> } = {},
): WebhookRoute {
  const { status, generation = 1, spec } = more;
  const made = routeOf(spec);
  return { ...made, metadata: { ...made.metadata, generation }, ...(status && { status }) };
}

const gateway = (name: string, more: Partial<GatewayPod> = {}): GatewayPod => ({
  name,
  isReady: true,
  renewedAt: NOW,
  servedSeq: 7,
  ...more,
});

const observed = (verdict: Partial<Observed["verdict"]> = {}, counts: Partial<Observed["sum"]> = {}): Observed => ({
  verdict: { isFailing: false, isSlow: false, ...verdict },
  sum: { key: ENTRY.route, requests: 20, verified: 10, refused: 10, slow: 10, ...counts },
});

const DEPLOYMENT: LiveDeployment = {
  name: "workers",
  generation: 1,
  observedGeneration: 1,
  replicas: 2,
  available: 2,
  conditions: [{ type: "Available", status: "True" }],
};

/** Of a route with which everything is well. */
function input(more: Partial<RouteStatusInput> = {}): RouteStatusInput {
  return {
    route: route(),
    now: NOW,
    url: "https://hooks.example.com/shop/orders",
    isAccepted: true,
    unresolved: [],
    ingress: TRUE,
    entry: ENTRY,
    rotation: { tooManyChanges: false },
    gateways: [gateway("a"), gateway("b")],
    workers: { deployment: DEPLOYMENT, minimum: 1 },
    queue: { isReachable: true, since: NOW },
    ...more,
  };
}

function conditionIn(status: WebhookRouteStatus, type: string) {
  const found = conditionOf(status.conditions, type);
  return found === undefined ? undefined : [found.status, found.reason];
}

const lookAt = (more: Partial<RouteStatusInput>, type: string) => conditionIn(routeStatus(input(more)), type);
const messageOf = (more: Partial<RouteStatusInput>, type: string) =>
  conditionOf(routeStatus(input(more)).conditions, type)?.message;

describe("the status of a route", () => {
  it("is Unknown in every part at first, so that nobody takes it for one without conditions", () => {
    const status = routeStatus({ route: route(), now: NOW });
    expect(status.conditions?.map(({ type, status: state }) => [type, state])).toEqual([
      ["Ready", "Unknown"],
      ["Reconciling", "True"],
      ["Stalled", "False"],
      ["Accepted", "Unknown"],
      ["SecretsResolved", "Unknown"],
      ["DestinationsResolved", "Unknown"],
      ["IngressReady", "Unknown"],
      ["Programmed", "Unknown"],
      ["WorkersAvailable", "Unknown"],
      ["QueueReachable", "Unknown"],
    ]);
  });

  it("is ready when every part is", () => {
    const status = routeStatus(input());
    expect(conditionIn(status, "Ready")).toEqual(["True", "Reconciled"]);
    expect(conditionIn(status, "Reconciling")).toEqual(["False", "AsExpected"]);
    expect(conditionIn(status, "Stalled")).toEqual(["False", "AsExpected"]);
    expect(status.url).toBe("https://hooks.example.com/shop/orders");
  });

  it("shows no password that a provider signs with the URL", () => {
    const { url } = routeStatus(input({ url: "https://user:p@ss@hooks.example.com/a?b=c@d" }));
    expect(url).toBe("https://hooks.example.com/a?b=c@d");
    expect(routeStatus(input({ url: "https://hooks.example.com/a@b" })).url).toBe("https://hooks.example.com/a@b");
  });

  it("carries the generation in itself and in every condition, kept ones included", () => {
    const first = routeStatus(input({ observed: observed({ isFailing: true }) }));
    const second = routeStatus(input({ route: route({ generation: 5, status: first }) }));
    expect(second.observedGeneration).toBe(5);
    expect(new Set(second.conditions?.map(({ observedGeneration }) => observedGeneration))).toEqual(new Set([5]));
    expect(conditionIn(second, "VerificationFailing")).toEqual(["True", "SignaturesRefused"]);
  });

  it("is what the CRD accepts, with reasons from the list", () => {
    const busy = routeStatus(
      input({
        observed: observed({ isFailing: true, isSlow: true }),
        rotation: { tooManyChanges: true, overlapEndsAt: LATER },
        backlog: { state: "Stuck", waiting: 10, deadLetters: 3 },
        circuits: [{ name: "own", circuit: "Open", disabledSince: NOW, reason: "Gone" }],
        lastHandled: { revokePreviousAt: "2026-01-01T00:00:00Z" },
      }),
    );
    for (const status of [busy, routeStatus(input()), routeStatus({ route: route(), now: NOW })]) {
      expect(checkStructure({ ...route(), status })).toEqual([]);
      for (const { reason } of status.conditions ?? []) expect(REASONS).toContain(reason);
    }
  });

  it("says the same when nothing changed, however much later", () => {
    const first = routeStatus(input());
    const gateways = [gateway("a", { renewedAt: LATER }), gateway("b", { renewedAt: LATER })];
    const second = routeStatus(input({ route: route({ status: first }), now: LATER, gateways }));
    expect(sameStatus(first, second)).toBe(true);
    expect(sameStatus(undefined, second)).toBe(false);
    expect(sameStatus({ ...first, url: "https://other" }, second)).toBe(false);
    expect(sameStatus(JSON.parse(JSON.stringify(first)) as WebhookRouteStatus, second)).toBe(true);
  });

  it("moves the time of a condition only when its status flips", () => {
    const timeOf = (status: WebhookRouteStatus) =>
      conditionOf(status.conditions, "WorkersAvailable")?.lastTransitionTime;
    const first = routeStatus(input({ workers: { deployment: undefined, minimum: 1 } }));
    const other = { deployment: { ...DEPLOYMENT, available: 0 }, minimum: 1 as const };
    const second = routeStatus(input({ route: route({ status: first }), now: LATER, workers: other }));
    const third = routeStatus(input({ route: route({ status: second }), now: LATER + 999 }));
    expect([first, second, third].map(timeOf)).toEqual([
      "2026-01-02T03:04:05Z",
      "2026-01-02T03:04:05Z",
      "2026-01-02T04:04:06Z",
    ]);
  });

  it("cuts a message that no terminal could show", () => {
    const refusal = { reason: "InvalidSpec", message: "x".repeat(40_000) } as const;
    expect(messageOf({ refusal }, "Accepted")?.length).toBe(2_000);
  });
});

describe("Ready", () => {
  const unresolved = [
    { path: "spec.secretRefs[0]", reason: "SecretNotFound", message: "Secret a does not exist: create it" },
  ] as const;

  it("has the reason of the first part that is false", () => {
    const gateways: GatewayPod[] = [];
    const all = { unresolved, gateways, workers: { deployment: undefined, minimum: 1 } };
    expect(lookAt(all, "Ready")).toEqual(["False", "SecretNotFound"]);
    expect(lookAt({ ...all, unresolved: [] }, "Ready")).toEqual(["False", "GatewayNotReached"]);
    expect(lookAt({ ...all, unresolved: [], gateways: input().gateways ?? [] }, "Ready")).toEqual([
      "False",
      "WorkersUnavailable",
    ]);
    expect(messageOf(all, "Ready")).toBe("SecretsResolved: spec.secretRefs[0]: Secret a does not exist: create it");
  });

  it("is false rather than unknown when one part is the one and another the other", () => {
    const { ingress: _, ...more } = input({ workers: { deployment: undefined, minimum: 1 } });
    expect(conditionIn(routeStatus(more), "Ready")).toEqual(["False", "WorkersUnavailable"]);
    const { ingress: __, ...rest } = input();
    expect(conditionIn(routeStatus(rest), "Ready")).toEqual(["Unknown", "Progressing"]);
  });

  it.each(["IngressNotAdmitted", "TLSMissing"] as const)("is false while the ingress is: %s", (reason) => {
    expect(lookAt({ ingress: { status: "False", reason, message: "" } }, "Ready")).toEqual(["False", reason]);
  });

  it("is not touched by circuits, warnings or suspension", () => {
    const more = {
      route: route({ spec: { suspend: "All" } }),
      circuits: [{ name: "own", circuit: "Open" as const }],
      observed: observed({ isFailing: true, isSlow: true }),
      isAckBudgetAtRisk: true,
    };
    expect(lookAt(more, "Ready")).toEqual(["True", "Reconciled"]);
  });
});

describe("a refused route", () => {
  const refusal = { reason: "HostPathConflict", message: "another has the place" } as const;

  it("is not looked at further, though an older version of it may still be served", () => {
    const status = routeStatus(input({ refusal }));
    expect(conditionIn(status, "Accepted")).toEqual(["False", "HostPathConflict"]);
    expect(conditionIn(status, "Ready")).toEqual(["False", "HostPathConflict"]);
    for (const type of ["SecretsResolved", "DestinationsResolved", "IngressReady", "Programmed", "WorkersAvailable"]) {
      expect(conditionIn(status, type)).toEqual(["Unknown", "NotAccepted"]);
    }
  });

  it("is stalled, and not reconciling, when only a person can help", () => {
    expect(lookAt({ refusal }, "Stalled")).toEqual(["True", "HostPathConflict"]);
    expect(lookAt({ refusal }, "Reconciling")).toEqual(["False", "AsExpected"]);
  });

  it("is reconciling when it may end by itself", () => {
    const workers = { deployment: undefined, minimum: 1 as const };
    expect(lookAt({ workers }, "Stalled")).toEqual(["False", "AsExpected"]);
    expect(lookAt({ workers }, "Reconciling")).toEqual(["True", "WorkersUnavailable"]);
  });
});

describe("QueueReachable", () => {
  const away = (ms: number) => ({ isReachable: false, since: NOW - ms });
  const before = routeStatus(input());

  it("stays as it was for the first minute", () => {
    expect(lookAt({ queue: away(59_999), route: route({ status: before }) }, "QueueReachable")).toEqual([
      "True",
      "Reconciled",
    ]);
    expect(lookAt({ queue: away(59_999) }, "QueueReachable")).toEqual(["Unknown", "Progressing"]);
    expect(lookAt({ queue: away(59_999) }, "Ready")).toEqual(["True", "Reconciled"]);
  });

  it("is false after a minute, and the route is not ready then", () => {
    expect(lookAt({ queue: away(60_000), route: route({ status: before }) }, "QueueReachable")).toEqual([
      "False",
      "QueueUnreachable",
    ]);
    expect(lookAt({ queue: away(60_000) }, "Ready")).toEqual(["False", "QueueUnreachable"]);
  });
});

describe("Programmed", () => {
  const cond = (gateways: readonly GatewayPod[]) => lookAt({ gateways }, "Programmed");
  const text = (gateways: readonly GatewayPod[]) => messageOf({ gateways }, "Programmed");

  it("is true when every ready gateway has reached the entry", () => {
    expect(cond([gateway("a"), gateway("b", { servedSeq: 8 })])).toEqual(["True", "Reconciled"]);
    expect(cond([gateway("a"), gateway("b", { servedSeq: 6 })])).toEqual(["False", "GatewayNotReached"]);
    expect(text([gateway("a"), gateway("b", { servedSeq: 6 })])).toBe("gateway Pod b not there yet");
  });

  it("does not wait for a Pod that is not ready", () => {
    expect(cond([gateway("a"), gateway("b", { isReady: false, servedSeq: 0 })])).toEqual(["True", "Reconciled"]);
    expect(cond([gateway("a", { isReady: false })])).toEqual(["False", "GatewayNotReached"]);
    expect(text([])).toBe("no gateway Pod is ready");
  });

  it("names a Pod that is silent for 30 s, and leaves it out", () => {
    const silent = (ms: number) => [gateway("a"), gateway("b", { servedSeq: 1, renewedAt: NOW - ms })];
    expect(cond(silent(29_999))).toEqual(["False", "GatewayNotReached"]);
    expect(cond(silent(30_000))).toEqual(["True", "Reconciled"]);
    expect(text(silent(30_000))).toContain("left out: gateway Pod b");
  });

  it("is false when all are silent", () => {
    expect(cond([gateway("a", { renewedAt: NOW - 30_000 }), { name: "b", isReady: true }])).toEqual([
      "False",
      "GatewayNotReached",
    ]);
    expect(text([gateway("a", { renewedAt: NOW - 30_000 }), { name: "b", isReady: true }])).toBe(
      "gateway Pod a, b silent",
    );
  });

  it("is false when a Pod cannot use this version of the entry, not when it could not use an older one", () => {
    expect(cond([gateway("a", { rejectedSeq: 7 })])).toEqual(["False", "EntryRejected"]);
    expect(cond([gateway("a", { rejectedSeq: 6 })])).toEqual(["True", "Reconciled"]);
  });

  it("stays true for its generation, and is looked at anew for the next", () => {
    const status = routeStatus(input());
    const gateways = [gateway("a", { servedSeq: 6 })];
    expect(lookAt({ gateways, route: route({ status }) }, "Programmed")).toEqual(["True", "Reconciled"]);
    expect(lookAt({ gateways, route: route({ status, generation: 2 }) }, "Programmed")).toEqual([
      "False",
      "GatewayNotReached",
    ]);
  });

  it("names five Pods at most", () => {
    const gateways = Array.from({ length: 7 }, (_, n) => gateway(`p${n}`, { servedSeq: 1 }));
    expect(text(gateways)).toBe("gateway Pod p0, p1, p2, p3, p4 and 2 more not there yet");
  });
});

describe("WorkersAvailable", () => {
  const cond = (deployment: Partial<LiveDeployment>, minimum: 0 | 1 = 1) =>
    lookAt({ workers: { deployment: { ...DEPLOYMENT, ...deployment }, minimum } }, "WorkersAvailable");
  const condition = (type: string, status: string, reason = "R") => ({ type, status, reason });

  it("is the Deployment's own word, not that it was made", () => {
    expect(cond({})).toEqual(["True", "Reconciled"]);
    expect(cond({ conditions: [] })).toEqual(["False", "WorkersUnavailable"]);
    expect(cond({ conditions: [condition("Available", "False")] })).toEqual(["False", "WorkersUnavailable"]);
    expect(cond({ available: 0 })).toEqual(["False", "WorkersUnavailable"]);
  });

  it("is true at 0 only where KEDA wakes workers", () => {
    expect(cond({ replicas: 0, available: 0 }, 0)).toEqual(["True", "ScaledToZero"]);
    expect(cond({ replicas: 0, available: 0 }, 1)).toEqual(["False", "WorkersUnavailable"]);
  });

  it("is false when a rollout of this generation gave up, which stalls the route", () => {
    const conditions = [condition("Available", "True"), condition("Progressing", "False", "ProgressDeadlineExceeded")];
    expect(cond({ conditions })).toEqual(["False", "RolloutStalled"]);
    expect(cond({ conditions, generation: 2 })).toEqual(["True", "Reconciled"]);
    const workers = { deployment: { ...DEPLOYMENT, conditions }, minimum: 1 as const };
    expect(lookAt({ workers }, "Stalled")).toEqual(["True", "RolloutStalled"]);
  });

  it("says when Pods cannot be made", () => {
    const conditions = [condition("ReplicaFailure", "True")];
    const workers = { deployment: { ...DEPLOYMENT, available: 0, conditions }, minimum: 1 as const };
    expect(messageOf({ workers }, "WorkersAvailable")).toContain("quotas and admission");
  });

  it("is false for what keeps workers from being made or scaled", () => {
    const problem = { reason: "AutoscalingUnavailable", message: "install KEDA" } as const;
    expect(lookAt({ workers: { deployment: DEPLOYMENT, minimum: 1, problem } }, "Ready")).toEqual([
      "False",
      "AutoscalingUnavailable",
    ]);
  });
});

describe("warnings", () => {
  it("are left out until they are true, and then say that they ended", () => {
    expect(lookAt({}, "RotationInProgress")).toBeUndefined();
    const during = routeStatus(input({ rotation: { tooManyChanges: false, overlapEndsAt: LATER } }));
    expect(conditionIn(during, "RotationInProgress")).toEqual(["True", "OverlapOpen"]);
    expect(lookAt({ route: route({ status: during }) }, "RotationInProgress")).toEqual(["False", "AsExpected"]);
  });

  it("stay as they were while nothing is known", () => {
    const failing = routeStatus(input({ observed: observed({ isFailing: true, isSlow: true }) }));
    const { rotation: _, ...rest } = input({ route: route({ status: failing }) });
    expect(conditionIn(routeStatus(rest), "VerificationFailing")).toEqual(["True", "SignaturesRefused"]);
    expect(conditionIn(routeStatus(rest), "AckBudgetAtRisk")).toEqual(["True", "SlowAnswers"]);
    expect(lookAt({ route: route({ status: failing }), observed: observed() }, "VerificationFailing")).toEqual([
      "False",
      "AsExpected",
    ]);
  });

  it("say with the numbers of that moment that verification fails, or that answers are slow, and how to find out why", () => {
    const first = input({
      observed: observed({ isFailing: true, isSlow: true }, { requests: 52, refused: 37, slow: 3 }),
    });
    const failing = messageOf(first, "VerificationFailing");
    expect(failing).toContain("37 of 52 requests within 5 minutes failed verification");
    expect(failing).toContain("davit events --rejected");
    expect(failing).toContain("davit verify");
    expect(messageOf(first, "AckBudgetAtRisk")).toContain(
      "3 of 52 answers within 5 minutes took more than 70 % of the 10s after which GitHub gives up",
    );
  });

  it("do not write a status anew because they count on", () => {
    const wrong = { isFailing: true, isSlow: true };
    const first = routeStatus(input({ observed: observed(wrong, { requests: 52, refused: 37, slow: 3 }) }));
    const later = observed(wrong, { requests: 99, refused: 80, slow: 9 });
    expect(sameStatus(first, routeStatus(input({ route: route({ status: first }), observed: later })))).toBe(true);
    const over = routeStatus(input({ route: route({ status: first }), observed: observed() }));
    const again = messageOf({ route: route({ status: over }), observed: later }, "VerificationFailing");
    expect(again).toContain("80 of 99");
  });

  it("tell of a rotation until when, and of keys that were ended early", () => {
    const rotation = { tooManyChanges: false, overlapEndsAt: LATER };
    expect(messageOf({ rotation }, "RotationInProgress")).toBe("previous keys are accepted until 2026-01-02T04:04:05Z");
    expect(lookAt({ rotation: { tooManyChanges: true } }, "RotationInProgress")).toEqual(["True", "TooManyChanges"]);
  });

  it("tell of a dedupe key that is weak", () => {
    expect(lookAt({}, "DedupeKeyWeak")).toBeUndefined();
    const weak = (withoutId: RouteEntry["dedupe"]["withoutId"]) => {
      const dedupe = { ...ENTRY.dedupe, sources: [], ...(withoutId && { withoutId }) };
      return { ...ENTRY, dedupe };
    };
    expect(lookAt({ entry: weak("Signature") }, "DedupeKeyWeak")).toEqual(["True", "NoStableId"]);
    expect(messageOf({ entry: weak("Signature") }, "DedupeKeyWeak")).toContain("equal signature and body");
    expect(messageOf({ entry: weak("Body") }, "DedupeKeyWeak")).toContain("an equal body is a duplicate");
    expect(messageOf({ entry: weak("None") }, "DedupeKeyWeak")).toContain("every request is a new event");
  });

  it("tell of the dedupe key of an entry that an older controller published", () => {
    const older = (disabled: boolean) => {
      const { withoutId: _, ...dedupe } = ENTRY.dedupe;
      return { ...ENTRY, dedupe: { ...dedupe, sources: [], disabled } };
    };
    expect(messageOf({ entry: older(false) }, "DedupeKeyWeak")).toContain("equal signature and body");
    expect(messageOf({ entry: older(true) }, "DedupeKeyWeak")).toContain("every request is a new event");
  });

  it.each(["Ingest", "Delivery", "All"] as const)("tell of what is suspended: %s", (suspend) => {
    expect(lookAt({ route: route({ spec: { suspend } }) }, "Suspended")).toEqual(["True", "Suspended"]);
  });
});

describe("secrets", () => {
  it("are in no status: keys are named by their ids alone", () => {
    const secrets = secretsOf({ github: { secret: "a very secret value" } });
    const entry = entryOf({ secrets, now: NOW });
    const text = JSON.stringify(routeStatus(input({ entry })));
    expect(text).not.toContain("a very secret value");
    expect(text).not.toContain(entry.keys[0]?.value);
    expect(text).toContain(entry.keys[0]?.id);
  });
});
