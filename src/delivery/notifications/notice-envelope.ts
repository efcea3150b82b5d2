import type { Notice, NoticeKind } from "../../custody/notices.ts";
import { shortHash } from "../../lib/hash.ts";
import { enableCommand, noticeLine, type NoticeSubject } from "./notice-text.ts";

/** `type` of the message. */
const TYPES: Readonly<Record<NoticeKind, string>> = {
  Failing: "davit.destination.failing",
  HalfWay: "davit.destination.half-way",
  Disabled: "davit.destination.disabled",
  Recovered: "davit.destination.recovered",
};

/** Whose namespace it is. */
export interface NoticeScope {
  readonly instance: string;
  readonly namespace: string;
}

/** Names a notice outside its namespace: the same for every try, another for every notice. */
export function noticeId({ instance, namespace }: NoticeScope, { id }: Notice): string {
  return `notice-${shortHash(instance, namespace)}-${id}`;
}

/**
 * The body of a notification: `{id, type, created, data}`, times in RFC 3339. `type` and `data` are as Standard Webhooks has them ("Payload structure"); `id` is
 * the header `webhook-id`.
 */
export function noticeEnvelope(scope: NoticeScope, notice: Notice, subject: NoticeSubject): Buffer {
  const { kind, at, reason, consecutiveFailures, failingSince, lastStatus, lastError, parked } = notice;
  return Buffer.from(
    JSON.stringify({
      id: noticeId(scope, notice),
      type: TYPES[kind],
      created: new Date(at).toISOString(),
      data: {
        namespace: subject.namespace,
        destination: subject.id,
        name: subject.name,
        message: noticeLine(notice, subject),
        reason,
        consecutiveFailures,
        ...(failingSince !== undefined && { failingSince: new Date(failingSince).toISOString() }),
        ...(lastStatus !== undefined && { lastStatus }),
        ...(lastError !== undefined && { lastError }),
        parked,
        ...(kind === "Disabled" && { enable: enableCommand(subject) }),
      },
    }),
  );
}
