import type { GateReason } from "../../custody/gate.ts";
import type { Notice, NoticeKind } from "../../custody/notices.ts";

/** Whom a notice is about, in the words of its manifest. */
export interface NoticeSubject {
  readonly namespace: string;
  /** Name of the WebhookDestination, or of an inline destination in its route. */
  readonly name: string;
  /** What the command that enables it calls it: `spec.id`. */
  readonly id: string;
}

const STATES: Readonly<Record<NoticeKind, string>> = {
  Failing: "is failing",
  HalfWay: "is half-way to being disabled",
  Disabled: "is disabled",
  Recovered: "has recovered",
};

const BECAUSE: Partial<Readonly<Record<GateReason, string>>> = {
  Gone: "it answered 410, which says that it is gone for good",
  OperatorEnabled: "an operator enabled it",
  Recovered: "it took a message again",
};

const NEXT: Readonly<Record<NoticeKind, string>> = {
  Failing: "Nothing is lost: what is put back is tried again, and once it answers it is drained by itself.",
  HalfWay:
    "Half of what disables it is used up, in number and in time. When it is disabled, nothing is sent to it until somebody enables it.",
  Disabled: "Nothing is sent to it any more; what waits for it is kept.",
  Recovered: "What waits for it is sent now, a few at a time at first.",
};

/** `destination shop/acme-eu is disabled`. */
export function noticeTitle({ kind }: Notice, { namespace, name }: NoticeSubject): string {
  return `destination ${namespace}/${name} ${STATES[kind]}`;
}

/** The command that lets copies through again. Ids that a shell would not leave alone are quoted. */
export function enableCommand({ namespace, id }: NoticeSubject): string {
  const word = /^[A-Za-z0-9._][A-Za-z0-9._-]*$/.test(id) ? id : `'${id.replaceAll("'", `'\\''`)}'`;
  return `davit destinations enable ${word} -n ${namespace}`;
}

/** What happened, what was seen last, what waits: one line. */
export function noticeLine(notice: Notice, subject: NoticeSubject): string {
  return [`${noticeTitle(notice, subject)}: ${because(notice)}`, ...facts(notice)].join("; ");
}

/** The whole of it, for people: lines of text. Neither payloads nor answers of the destination are in it. */
export function noticeText(notice: Notice, subject: NoticeSubject): string {
  const lines = [
    `The ${noticeTitle(notice, subject)}: ${because(notice)}.`,
    "",
    ...facts(notice).map((fact) => `- ${fact}`),
    `- seen at ${new Date(notice.at).toISOString()}`,
    "",
    NEXT[notice.kind],
  ];
  if (notice.kind === "Disabled") lines.push("", "To enable it once it is right again:", `  ${enableCommand(subject)}`);
  return `${lines.join("\n")}\n`;
}

function because({ reason, consecutiveFailures }: Notice): string {
  return BECAUSE[reason] ?? `${counted(consecutiveFailures, "attempt")} in a row without success`;
}

function facts({ kind, consecutiveFailures, failingSince, lastStatus, lastError, parked }: Notice): string[] {
  const last = lastStatus === undefined ? lastError : `status ${lastStatus}`;
  const isFailing = kind !== "Recovered" && failingSince !== undefined;
  return [
    ...(last === undefined ? [] : [`last answer: ${last}`]),
    ...(isFailing
      ? [`${counted(consecutiveFailures, "failure")} in a row since ${new Date(failingSince).toISOString()}`]
      : []),
    `${counted(parked, "event")} ${parked === 1 ? "waits" : "wait"} for it`,
  ];
}

function counted(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
