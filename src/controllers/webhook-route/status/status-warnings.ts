import { formatDuration } from "../../../lib/duration.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import { SLOW_SHARE } from "../../../routes/observations.ts";
import { presets } from "../../../verification/presets/index.ts";
import type { Observed } from "../observing/gateway-observations.ts";
import { conditionOf, timestamp } from "./conditions.ts";
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
  VerificationFailing: ({ observed }) =>
    observed &&
    warning(observed.verdict.isFailing, { reason: "SignaturesRefused", message: signaturesRefused(observed) }),
  AckBudgetAtRisk: ({ observed, entry }) =>
    observed && warning(observed.verdict.isSlow, { reason: "SlowAnswers", message: slowAnswers(observed, entry) }),
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

/** Warnings whose message tells numbers that change all the time: those hold that were so when it began. */
const COUNTING: readonly Warning[] = ["VerificationFailing", "AckBudgetAtRisk"];

/** What is found of each warning. */
export function warningFindings(input: RouteStatusInput): ReadonlyMap<Warning, Finding | undefined> {
  const { conditions } = input.route.status ?? {};
  return new Map(
    WARNINGS.map((type) => {
      const finding = LOOKS[type](input);
      const before = COUNTING.includes(type) ? conditionOf(conditions, type) : undefined;
      const isOn = finding?.status === "True" && before?.status === "True" && before.reason === finding.reason;
      return [type, isOn ? { ...finding, message: before.message } : finding];
    }),
  );
}

function signaturesRefused({ sum }: Observed): string {
  const { refused, requests } = sum;
  return `${refused} of ${requests} requests within 5 minutes failed verification when this was noticed. Usual reasons: the Secret holds another key than the sender has; verification.publicUrl is not what is set up there; a proxy changes the body; a clock is wrong. davit events --rejected lists them, davit verify says what is wrong with one`;
}

function slowAnswers({ sum }: Observed, entry: RouteEntry | undefined): string {
  const { verification } = entry ?? {};
  const preset = verification?.type === "provider" ? presets.get(verification.provider) : undefined;
  const budget =
    preset === undefined
      ? "the time after which the sender gives up"
      : `the ${formatDuration(preset.ackBudgetMs)} after which ${preset.title} gives up`;
  return `${sum.slow} of ${sum.requests} answers within 5 minutes took more than ${SLOW_SHARE * 100} % of ${budget} when this was noticed: look at Redis and at the gateways' load`;
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

/** What stands for a delivery without an id. */
const WITHOUT_ID = {
  None: "nothing identifies a delivery, so every request is a new event",
  Signature: "only an equal signature and body within a short time are a duplicate",
  Body: "an equal body is a duplicate, whatever it says",
} as const;

function dedupeKeyWeak({ entry }: RouteStatusInput): Finding | undefined {
  if (entry === undefined) return undefined;
  const { sources, disabled, withoutId = disabled ? "None" : "Signature" } = entry.dedupe;
  if (sources.length > 0 || withoutId === "Refuse") return NONE;
  const message = `${WITHOUT_ID[withoutId]}: set dedupe.keyFrom to what identifies a delivery, if anything does`;
  return { status: "True", reason: "NoStableId", message };
}

function warning(isTrue: boolean, { reason, message }: Pick<Finding, "reason" | "message">): Finding {
  return isTrue ? { status: "True", reason, message } : NONE;
}
