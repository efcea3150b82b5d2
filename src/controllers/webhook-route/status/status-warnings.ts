import { timestamp } from "./conditions.ts";
import type { Finding, RouteStatusInput } from "./status-input.ts";

/** Conditions that warn and never make a route not ready. True is abnormal. */
export const WARNINGS = [
  "RotationInProgress",
  "VerificationFailing",
  "AckBudgetAtRisk",
  "DedupeKeyWeak",
  "Suspended",
] as const;

type Warning = (typeof WARNINGS)[number];

/** `undefined`: nothing is known, and the condition stays as it was. */
type Look = (input: RouteStatusInput) => Finding | undefined;

const NONE: Finding = { status: "False", reason: "AsExpected", message: "" };

const LOOKS: Readonly<Record<Warning, Look>> = {
  RotationInProgress: rotationInProgress,
  VerificationFailing: ({ isVerificationFailing }) =>
    isVerificationFailing === undefined
      ? undefined
      : warning(isVerificationFailing, {
          reason: "SignaturesRefused",
          message:
            "more than half of the requests of the last 5 minutes failed verification: compare the key with the sender's",
        }),
  AckBudgetAtRisk: ({ isAckBudgetAtRisk }) =>
    isAckBudgetAtRisk === undefined
      ? undefined
      : warning(isAckBudgetAtRisk, {
          reason: "SlowAnswers",
          message:
            "answers come close to the time after which the sender gives up: look at Redis and at the gateways' load",
        }),
  DedupeKeyWeak: dedupeKeyWeak,
  Suspended: ({ route, refusal }) => {
    const { suspend = "None" } = route.spec;
    return refusal === undefined
      ? warning(suspend !== "None", { reason: "Suspended", message: SUSPENDED[suspend] })
      : undefined;
  },
};

const SUSPENDED = {
  None: "",
  Ingest: "requests are answered 503; what was accepted is delivered",
  Delivery: "events are accepted and kept; none is delivered",
  All: "requests are answered 503, and nothing is delivered; nothing is lost",
};

/** What is found of each warning. */
export function warningFindings(input: RouteStatusInput): ReadonlyMap<Warning, Finding | undefined> {
  return new Map(WARNINGS.map((type) => [type, LOOKS[type](input)]));
}

function rotationInProgress({ rotation }: RouteStatusInput): Finding | undefined {
  if (rotation === undefined) return undefined;
  const { overlapEndsAt, tooManyChanges } = rotation;
  const until = overlapEndsAt === undefined ? "" : `until ${timestamp(overlapEndsAt)}`;
  if (tooManyChanges) {
    const message = `there were more than 5 keys at a time, and the oldest previous ones were ended early; previous keys are accepted ${until}`;
    return { status: "True", reason: "TooManyChanges", message: message.trim() };
  }
  return warning(overlapEndsAt !== undefined, {
    reason: "OverlapOpen",
    message: `previous keys are accepted ${until}`,
  });
}

function dedupeKeyWeak({ entry }: RouteStatusInput): Finding | undefined {
  if (entry === undefined) return undefined;
  const { sources, disabled } = entry.dedupe;
  const message = disabled
    ? "nothing identifies a delivery, so every request is a new event: set dedupe.keyFrom"
    : "only an equal signature and body within a short time are a duplicate: set dedupe.keyFrom to what identifies a delivery";
  return warning(sources.length === 0, { reason: "NoStableId", message });
}

function warning(isTrue: boolean, { reason, message }: Pick<Finding, "reason" | "message">): Finding {
  return isTrue ? { status: "True", reason, message } : NONE;
}
