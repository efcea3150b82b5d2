import { expect, test } from "vitest";
import type { Notice, TakenNotice } from "../../custody/notices.ts";
import { MailError, type Mail } from "./mail.ts";
import { NoticeMails } from "./notice-mails.ts";
import type { NoticeOutcome } from "./outcome.ts";

const AT = Date.parse("2026-01-02T03:04:05Z");
const taken = (destination: string, change: Partial<Notice> = {}): TakenNotice => ({
  attempt: 1,
  notice: {
    id: String(AT + Number(destination.slice(2))),
    kind: "Disabled",
    destination,
    at: AT,
    reason: "Gone",
    consecutiveFailures: 1,
    parked: 0,
    ...change,
  },
});
const many = (count: number, from = 0) => Array.from({ length: count }, (_, n) => taken(`~d${from + n}`));

/** A channel whose clock the test moves, with what it sent. */
function channel(email: (destination: string) => string | undefined = () => "ops@example.com") {
  const clock = { at: 1_000, now: () => AT, monotonic: () => clock.at };
  const sent: Mail[] = [];
  let failure: Error | undefined;
  const mails = new NoticeMails({
    scope: { instance: "default", namespace: "shop" },
    mailer: {
      send: async (mail) => {
        if (failure !== undefined) throw failure;
        sent.push(mail);
      },
    },
    clock,
    find: (id) =>
      id === "~d404" ? undefined : { namespace: "shop", name: id.slice(1), id: id.slice(1), email: email(id) },
    isWanted: () => true,
  });
  const tell = async (some: readonly TakenNotice[], signal = new AbortController().signal) => {
    const outcomes = new Map<string, NoticeOutcome>();
    await mails.tell(some, {
      beginBefore: clock.at + 25_000,
      signal,
      report: async ({ notice }, outcome) => {
        outcomes.set(notice.destination, outcome);
        return undefined;
      },
    });
    return outcomes;
  };
  return { clock, sent, tell, fails: (error: Error | undefined) => (failure = error) };
}

test("a flood is one mail, and what comes within a minute is told in the next", async () => {
  const { clock, sent, tell } = channel();
  expect(new Set([...(await tell(many(120))).values()].map(({ result }) => result))).toEqual(new Set(["told"]));
  expect(sent).toHaveLength(1);
  expect(sent[0]?.subject).toBe("[davit] 120 notices about destinations in shop");
  expect(sent[0]?.text.match(/^- 2026/gm)).toHaveLength(50);
  expect(sent[0]?.text).toContain("- and 70 more");
  expect(sent[0]?.text).toContain("  davit destinations enable d0 -n shop\n");
  clock.at += 10_000;
  expect((await tell(many(2, 200))).get("~d200")).toEqual({ result: "deferred", delayMs: 50_000 });
  clock.at += 50_000;
  expect((await tell(many(2, 200))).get("~d200")).toEqual({ result: "told" });
  expect(sent).toHaveLength(2);
});

test("every address gets its own, and who names none gets nothing", async () => {
  const { sent, tell } = channel((id) => ({ "~d1": "a@example.com", "~d2": "b@example.com" })[id]);
  const outcomes = await tell([taken("~d1"), taken("~d2"), taken("~d3"), taken("~d404")]);
  expect(sent.map(({ to }) => to).toSorted()).toEqual(["a@example.com", "b@example.com"]);
  expect([outcomes.get("~d3"), outcomes.get("~d404")]).toEqual([{ result: "unwanted" }, { result: "unwanted" }]);
});

test("a mail that was not taken is to be tried again, unless its address is none", async () => {
  const { sent, tell, fails } = channel();
  fails(new MailError("EENVELOPE_451"));
  expect((await tell(many(1))).get("~d0")).toEqual({ result: "failed", code: "EENVELOPE_451" });
  fails(new MailError("invalid_address"));
  expect((await tell(many(1))).get("~d0")).toEqual({ result: "refused", code: "invalid_address" });
  fails(undefined);
  // What failed does not count as a mail of this minute.
  expect((await tell(many(1))).get("~d0")).toEqual({ result: "told" });
  expect(sent).toHaveLength(1);
});

test("a repeated mail has the same Message-ID", async () => {
  const [first, second] = [channel(), channel()];
  for (const { tell } of [first, second]) await tell(many(3));
  expect(first.sent[0]?.messageId).toBe(second.sent[0]?.messageId);
});

test("nothing is begun once the process stops", async () => {
  const { sent, tell } = channel();
  expect((await tell(many(1), AbortSignal.abort())).get("~d0")).toEqual({ result: "deferred", delayMs: 0 });
  expect(sent).toEqual([]);
});
