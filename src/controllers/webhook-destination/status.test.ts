import { describe, expect, test } from "vitest";
import { destinationEvents, destinationStatus, type DestinationStatusInput, sameDestinationStatus } from "./status.ts";

const NOW = Date.UTC(2026, 0, 2);
const LATER = NOW + 3_600_000;

function statusOf(more: Partial<DestinationStatusInput> = {}) {
  return destinationStatus({
    generation: 3,
    before: undefined,
    now: NOW,
    namespace: "shop",
    name: "acme",
    unresolved: [],
    id: "customer 1",
    suspended: false,
    ...more,
  });
}
const said = (status: ReturnType<typeof statusOf>) =>
  Object.fromEntries((status.conditions ?? []).map(({ type, status: value, reason }) => [type, `${value}/${reason}`]));
const messageOf = (status: ReturnType<typeof statusOf>, type: string) =>
  status.conditions?.find((one) => one.type === type)?.message;

describe("the status of a WebhookDestination", () => {
  test("is ready once it holds its id and has its Secrets, with as few conditions as say so", () => {
    const status = statusOf();
    expect(said(status)).toEqual({
      Ready: "True/Reconciled",
      Reconciling: "False/AsExpected",
      Stalled: "False/AsExpected",
      Accepted: "True/Reconciled",
      SecretsResolved: "True/Reconciled",
    });
    expect(status).toMatchObject({ observedGeneration: 3, id: "customer 1", circuit: "Closed" });
    expect(sameDestinationStatus(status, statusOf({ before: status, now: LATER }))).toBe(true);
  });

  test("of one whose id is another's is stalled, and names no id", () => {
    const refusal = { reason: "IdConflict", message: "the id belongs to other" } as const;
    const status = statusOf({ refusal, before: statusOf() });
    expect(said(status)).toMatchObject({
      Accepted: "False/IdConflict",
      Ready: "False/IdConflict",
      Stalled: "True/IdConflict",
    });
    expect(status).not.toHaveProperty("id");
    expect(destinationEvents(statusOf(), status).map(({ reason }) => reason)).toEqual(["IdConflict"]);
  });

  test("names every Secret that gives no value, and is reconciling", () => {
    const missing = {
      path: "spec.signing.secretRef",
      reason: "SecretNotFound",
      message: "Secret out does not exist: create it",
    } as const;
    const status = statusOf({ unresolved: [missing] });
    expect(said(status)).toMatchObject({ Ready: "False/SecretNotFound", Reconciling: "True/SecretNotFound" });
    expect(messageOf(status, "Ready")).toContain("spec.signing.secretRef: Secret out does not exist: create it");
  });

  test("of a disabled one says why, since when and how it is enabled; it is ready all the same", () => {
    const gate = { state: "Disabled", disabled: { reason: "Gone", since: NOW } } as const;
    const status = statusOf({ gate });
    expect(said(status)).toMatchObject({ Ready: "True/Reconciled", Disabled: "True/Gone" });
    expect(messageOf(status, "Disabled")).toContain(
      "kubectl annotate --overwrite webhookdestination acme --namespace shop davit.dev/enable-at=",
    );
    expect(status).toMatchObject({ circuit: "Open", disabled: { reason: "Gone", since: "2026-01-02T00:00:00Z" } });
    // Nothing known, as after a restart: it stays as it was.
    expect(statusOf({ before: status })).toMatchObject({ circuit: "Open", disabled: { reason: "Gone" } });
    const enabled = statusOf({ before: status, gate: { state: "Closed" }, enabledAt: "2026-01-02T01:00:00Z" });
    expect(said(enabled)).toMatchObject({ Disabled: "False/AsExpected" });
    expect(enabled).toMatchObject({ circuit: "Closed", lastHandled: { enableAt: "2026-01-02T01:00:00Z" } });
    expect(enabled).not.toHaveProperty("disabled");
  });

  test("leaves conditions of others as they are", () => {
    const foreign = {
      type: "Approved",
      status: "True",
      reason: "ByHand",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const before = { ...statusOf(), conditions: [...(statusOf().conditions ?? []), foreign] };
    expect(said(statusOf({ before }))).toMatchObject({ Approved: "True/ByHand" });
  });
});
