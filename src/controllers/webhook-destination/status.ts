import { isDeepStrictEqual } from "node:util";
import type { WebhookDestinationCondition, WebhookDestinationStatus } from "../../api/generated/webhook-destination.ts";
import type { Unresolved } from "../../routes/observed-keys.ts";
import type { Refusal } from "../webhook-route/exposure/host-policy.ts";
import { condition, type ConditionContext, conditionOf, timestamp } from "../webhook-route/status/conditions.ts";
import { edges, type StatusEvent } from "../webhook-route/status/status-events.ts";
import { progress } from "../webhook-route/status/status-findings.ts";
import type { Finding } from "../webhook-route/status/status-input.ts";
import type { GateReport } from "./destination-side.ts";
import { ACCESS_PATH } from "./plan.ts";

export interface DestinationStatusInput {
  readonly generation: number;
  /** As it was written last. */
  readonly before: WebhookDestinationStatus | undefined;
  /** Unix ms. */
  readonly now: number;
  /** For commands. */
  readonly namespace: string;
  readonly name: string;
  /** Why it is not accepted: invalid, its id, its namespace. */
  readonly refusal?: Refusal | undefined;
  /** References without a value. Absent: not looked at. */
  readonly unresolved?: readonly Unresolved[] | undefined;
  /** The id it holds. */
  readonly id?: string | undefined;
  readonly suspended: boolean;
  /** Absent: not known, and the last one stays. */
  readonly gate?: GateReport | undefined;
  /** Value of the command that was carried out now. */
  readonly enabledAt?: string | undefined;
}

const NONE: Finding = { status: "False", reason: "AsExpected", message: "" };
const NOT_ACCEPTED: Finding = { status: "Unknown", reason: "NotAccepted", message: "not looked at: see Accepted" };
const PROGRESSING: Finding = { status: "Unknown", reason: "Progressing", message: "not looked at yet" };

/**
 * The whole status of a WebhookDestination. Pure: equal input gives an equal status, and no time in it moves by itself. Names Secrets and fields, never values.
 * Its endpoint's health does not count towards `Ready`: that is the endpoint's.
 */
export function destinationStatus(input: DestinationStatusInput): WebhookDestinationStatus {
  const { before = {}, generation, now, gate, enabledAt } = input;
  const context: ConditionContext = { generation, now, previous: before.conditions };
  const id = input.refusal === undefined ? (input.id ?? before.id) : undefined;
  const lastHandled = enabledAt === undefined ? before.lastHandled : { ...before.lastHandled, enableAt: enabledAt };
  return {
    observedGeneration: generation,
    conditions: conditionsOf(input, context),
    ...(id !== undefined && { id }),
    ...(gate === undefined ? lastGate(before) : gateStatus(gate)),
    ...(lastHandled !== undefined && { lastHandled }),
  };
}

function conditionsOf(input: DestinationStatusInput, context: ConditionContext): WebhookDestinationCondition[] {
  const parts = { Accepted: accepted(input), SecretsResolved: secretsResolved(input) };
  const summary = ready(parts);
  const { reconciling, stalled } = progress(summary);
  const warnings = { Disabled: disabledFinding(input), Suspended: suspendedFinding(input) };
  return [
    condition("Ready", summary, context),
    condition("Reconciling", reconciling, context),
    condition("Stalled", stalled, context),
    ...Object.entries(parts).map(([type, finding]) => condition(type, finding, context)),
    ...Object.entries(warnings).flatMap(([type, finding]) => {
      const last = conditionOf(context.previous, type);
      if (finding === undefined) return last === undefined ? [] : { ...last, observedGeneration: context.generation };
      // A warning that never was is left out: most destinations have none of them.
      return last === undefined && finding.status === "False" ? [] : condition(type, finding, context);
    }),
    ...foreign(context.previous, context.generation),
  ];
}

const OWN = ["Ready", "Reconciling", "Stalled", "Accepted", "SecretsResolved", "Disabled", "Suspended"];

/** Conditions that others write, as they are. */
function foreign(
  previous: readonly WebhookDestinationCondition[] | undefined,
  observedGeneration: number,
): WebhookDestinationCondition[] {
  return (previous ?? []).filter(({ type }) => !OWN.includes(type)).map((one) => ({ ...one, observedGeneration }));
}

function accepted({ refusal }: DestinationStatusInput): Finding {
  if (refusal !== undefined) return { status: "False", ...refusal };
  return fine("the destination is valid, and its id is its own");
}

function secretsResolved({ refusal, unresolved }: DestinationStatusInput): Finding {
  if (refusal !== undefined) return NOT_ACCEPTED;
  if (unresolved === undefined) return PROGRESSING;
  const [first] = unresolved;
  if (first === undefined) return fine("every reference to a Secret has a value");
  const named = unresolved.map((one) => `${one.path}: ${one.message}`).join("; ");
  const doesWait = unresolved.some(({ path }) => path !== ACCESS_PATH);
  const message = `${named}. ${doesWait ? "Copies wait until then" : "Until then nobody has access; copies are delivered"}`;
  return { status: "False", reason: first.reason, message };
}

function ready(parts: Readonly<Record<string, Finding>>): Finding {
  const found = Object.entries(parts);
  const first =
    found.find(([, { status }]) => status === "False") ?? found.find(([, { status }]) => status === "Unknown");
  if (first === undefined) return fine("copies are delivered to it");
  const [part, { status, reason, message }] = first;
  return { status, reason, message: `${part}: ${message}` };
}

function disabledFinding({ gate, namespace, name }: DestinationStatusInput): Finding | undefined {
  if (gate === undefined) return undefined;
  const { disabled } = gate;
  if (disabled === undefined) return NONE;
  const why =
    disabled.reason === "Gone" ? "it answered 410, that it is gone for good" : "it failed too often and for too long";
  const message = `nothing is sent to it since ${timestamp(disabled.since)}: ${why}. Its copies wait. To enable it again: kubectl annotate --overwrite webhookdestination ${name} --namespace ${namespace} davit.dev/enable-at=$(date -u +%FT%TZ)`;
  return { status: "True", reason: disabled.reason, message };
}

function suspendedFinding({ suspended }: DestinationStatusInput): Finding {
  if (!suspended) return NONE;
  return { status: "True", reason: "Suspended", message: "nothing is sent to it; its copies wait and are not lost" };
}

type GateStatus = Pick<WebhookDestinationStatus, "circuit" | "disabled">;

/** What a status says of a gate. */
export function gateStatus(gate: GateReport): GateStatus {
  const { disabled } = gate;
  return {
    circuit: circuitOf(gate),
    ...(disabled && { disabled: { reason: disabled.reason, since: timestamp(disabled.since) } }),
  };
}

/** What is not known stays as it was; the gate of a new one is closed. */
function lastGate({ circuit = "Closed", disabled }: GateStatus): GateStatus {
  return { circuit, ...(disabled && { disabled }) };
}

/** A hold is the destination's wish and no fault; one that is tried out again is still open. */
export function circuitOf({ state }: Pick<GateReport, "state">): "Closed" | "Open" {
  return state === "Closed" || state === "Held" ? "Closed" : "Open";
}

/** Whether there is nothing to write. */
export function sameDestinationStatus(a: WebhookDestinationStatus | undefined, b: WebhookDestinationStatus): boolean {
  return a !== undefined && isDeepStrictEqual(a, b);
}

/** Events for what changed between two statuses. */
export function destinationEvents(
  before: WebhookDestinationStatus | undefined,
  after: WebhookDestinationStatus,
): readonly StatusEvent[] {
  return edges(before, after, EVENTS);
}

const EVENTS = [
  { condition: "Accepted", to: "False", type: "Warning" },
  { condition: "SecretsResolved", to: "False", type: "Warning" },
  { condition: "Ready", to: "True", type: "Normal", reason: "Ready" },
  { condition: "Suspended", to: "True", type: "Normal" },
  {
    condition: "Suspended",
    from: "True",
    to: "False",
    type: "Normal",
    reason: "Resumed",
    message: "the destination is no longer suspended",
  },
] as const;

function fine(message: string): Finding {
  return { status: "True", reason: "Reconciled", message };
}
