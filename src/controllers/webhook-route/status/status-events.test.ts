import { describe, expect, it } from "vitest";
import type { WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";
import { edges } from "./status-events.ts";

type State = "True" | "False" | "Unknown";

function statusOf(conditions: Readonly<Record<string, readonly [State, string]>>): WebhookRouteStatus {
  return {
    conditions: Object.entries(conditions).map(([type, [status, reason]]) => ({
      type,
      status,
      reason,
      message: `${type} ${reason}`,
      lastTransitionTime: "2026-01-02T03:04:05Z",
    })),
  };
}

const show = (before: WebhookRouteStatus | undefined, after: WebhookRouteStatus) =>
  edges(before, after).map(({ type, reason }) => `${type} ${reason}`);

const STARTING = statusOf({
  Ready: ["Unknown", "Progressing"],
  Accepted: ["True", "Reconciled"],
  IngressReady: ["False", "IngressNotAdmitted"],
  Programmed: ["False", "GatewayNotReached"],
  WorkersAvailable: ["False", "WorkersUnavailable"],
});
const RUNNING = statusOf({
  Ready: ["True", "Reconciled"],
  Accepted: ["True", "Reconciled"],
  IngressReady: ["True", "Reconciled"],
  Programmed: ["True", "Reconciled"],
  WorkersAvailable: ["True", "Reconciled"],
  QueueReachable: ["True", "Reconciled"],
});

describe("Events", () => {
  it("tell nothing of what takes its time after every change, and then that the route is ready", () => {
    expect(show(undefined, STARTING)).toEqual([]);
    expect(show(STARTING, RUNNING)).toEqual(["Normal Ready"]);
  });

  it("tell nothing when nothing changed", () => {
    const broken = statusOf({ Accepted: ["False", "HostNotAllowed"], Suspended: ["True", "Suspended"] });
    for (const status of [STARTING, RUNNING, broken]) expect(edges(status, status)).toEqual([]);
  });

  it("warn of what had been right", () => {
    const after = statusOf({
      Ready: ["False", "WorkersUnavailable"],
      IngressReady: ["False", "IngressNotAdmitted"],
      Programmed: ["False", "GatewayNotReached"],
      WorkersAvailable: ["False", "WorkersUnavailable"],
      QueueReachable: ["False", "QueueUnreachable"],
    });
    expect(edges(RUNNING, after)).toContainEqual({
      type: "Warning",
      reason: "WorkersUnavailable",
      message: "WorkersAvailable WorkersUnavailable",
    });
    expect(show(RUNNING, after)).toEqual([
      "Warning IngressNotAdmitted",
      "Warning GatewayNotReached",
      "Warning WorkersUnavailable",
      "Warning QueueUnreachable",
    ]);
  });

  it("warn at once of what is wrong with the manifests, and again when it is something else", () => {
    const first = statusOf({ Accepted: ["False", "HostNotAllowed"], SecretsResolved: ["False", "SecretNotFound"] });
    const second = statusOf({ Accepted: ["False", "HostPathConflict"], SecretsResolved: ["False", "SecretNotFound"] });
    expect(show(undefined, first)).toEqual(["Warning HostNotAllowed", "Warning SecretNotFound"]);
    expect(show(first, second)).toEqual(["Warning HostPathConflict"]);
  });

  it("tell of a rotation when it begins and when it ends", () => {
    const open = statusOf({ RotationInProgress: ["True", "OverlapOpen"] });
    const many = statusOf({ RotationInProgress: ["True", "TooManyChanges"] });
    const over = statusOf({ RotationInProgress: ["False", "AsExpected"] });
    expect(show(undefined, open)).toEqual(["Normal OverlapOpen"]);
    expect(show(open, many)).toEqual(["Warning TooManyChanges"]);
    expect(show(many, over)).toEqual(["Normal OverlapEnded"]);
    expect(show(undefined, over)).toEqual([]);
  });

  it("tell of a suspension and its end", () => {
    const suspended = statusOf({ Suspended: ["True", "Suspended"] });
    const resumed = statusOf({ Suspended: ["False", "AsExpected"] });
    expect(show(undefined, suspended)).toEqual(["Normal Suspended"]);
    expect(edges(suspended, resumed)).toEqual([
      { type: "Normal", reason: "Resumed", message: "the route is no longer suspended" },
    ]);
  });

  it("warn of a dedupe key that is weak", () => {
    const weak = statusOf({ DedupeKeyWeak: ["True", "NoStableId"] });
    expect(show(undefined, weak)).toEqual(["Warning NoStableId"]);
    expect(show(weak, statusOf({ DedupeKeyWeak: ["False", "AsExpected"] }))).toEqual([]);
  });

  it("tell once that verification fails or answers are slow, and once that it is over", () => {
    const state = (failing: State, slow: State) =>
      statusOf({
        VerificationFailing: [failing, failing === "True" ? "SignaturesRefused" : "AsExpected"],
        AckBudgetAtRisk: [slow, slow === "True" ? "SlowAnswers" : "AsExpected"],
      });
    expect(show(RUNNING, state("True", "True"))).toEqual(["Warning SignaturesRefused", "Warning SlowAnswers"]);
    expect(show(state("True", "True"), state("True", "True"))).toEqual([]);
    expect(show(state("True", "True"), state("False", "False"))).toEqual([
      "Normal VerificationRecovered",
      "Normal AnswersRecovered",
    ]);
    expect(show(state("False", "False"), state("False", "False"))).toEqual([]);
  });
});
