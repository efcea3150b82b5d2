import { expect, test } from "vitest";
import type { Notice } from "../../custody/notices.ts";
import { noticeEnvelope, noticeId } from "./notice-envelope.ts";
import { enableCommand, noticeLine, noticeText } from "./notice-text.ts";

const AT = Date.parse("2026-01-02T03:04:05Z");
const SUBJECT = { namespace: "shop", name: "acme-eu", id: "acme-eu" };
const SCOPE = { instance: "default", namespace: "shop" };
const notice = (change: Partial<Notice> = {}): Notice => ({
  id: "7216",
  kind: "Failing",
  destination: "~acme-eu",
  at: AT,
  reason: "ConsecutiveFailures",
  consecutiveFailures: 5,
  failingSince: AT - 60_000,
  lastStatus: 503,
  parked: 12,
  ...change,
});

test("a line says what happened, what was seen last and what waits", () => {
  expect(noticeLine(notice(), SUBJECT)).toBe(
    "destination shop/acme-eu is failing: 5 attempts in a row without success; last answer: status 503; " +
      "5 failures in a row since 2026-01-02T03:03:05.000Z; 12 events wait for it",
  );
  const { lastStatus: _, ...unanswered } = notice({ lastError: "ECONNREFUSED", parked: 1 });
  expect(noticeLine(unanswered, SUBJECT)).toContain("last answer: ECONNREFUSED");
  expect(noticeLine(unanswered, SUBJECT)).toContain("1 event waits for it");
});

test("a text says how to enable a disabled destination, and only then", () => {
  const command = "davit destinations enable acme-eu -n shop";
  expect(noticeText(notice({ kind: "Disabled", reason: "Gone" }), SUBJECT)).toContain(`:\n  ${command}\n`);
  for (const kind of ["Failing", "HalfWay", "Recovered"] as const) {
    expect(noticeText(notice({ kind }), SUBJECT)).not.toContain(command);
  }
  expect(noticeText(notice({ kind: "Recovered", reason: "OperatorEnabled" }), SUBJECT)).toContain(
    "an operator enabled it",
  );
});

test("a command can be pasted into a shell, whatever the id is", () => {
  const of = (id: string) => enableCommand({ ...SUBJECT, id });
  expect(of("acme.eu_1-a")).toBe("davit destinations enable acme.eu_1-a -n shop");
  expect(of("Acme GmbH; rm -rf /")).toBe("davit destinations enable 'Acme GmbH; rm -rf /' -n shop");
  expect(of("a'$(b)")).toBe(`davit destinations enable 'a'\\''$(b)' -n shop`);
});

test("an envelope has the same bytes at every try, and an id that no other namespace uses", () => {
  const body = noticeEnvelope(SCOPE, notice({ kind: "HalfWay" }), SUBJECT);
  expect(body).toEqual(noticeEnvelope(SCOPE, notice({ kind: "HalfWay" }), SUBJECT));
  expect(JSON.parse(body.toString())).toEqual({
    id: noticeId(SCOPE, notice()),
    type: "davit.destination.half-way",
    created: "2026-01-02T03:04:05.000Z",
    data: {
      namespace: "shop",
      destination: "acme-eu",
      name: "acme-eu",
      message: noticeLine(notice({ kind: "HalfWay" }), SUBJECT),
      reason: "ConsecutiveFailures",
      consecutiveFailures: 5,
      failingSince: "2026-01-02T03:03:05.000Z",
      lastStatus: 503,
      parked: 12,
    },
  });
  expect(noticeId({ ...SCOPE, namespace: "billing" }, notice())).not.toBe(noticeId(SCOPE, notice()));
});
