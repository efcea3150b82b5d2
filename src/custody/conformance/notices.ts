import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { GateConfig, GateEffect } from "../gate.ts";
import type { NoticeReader, TakenNotice } from "../notices.ts";
import type { Outbox, Settle, TakenCopy } from "../port.ts";
import {
  type ConformanceStore,
  type Open,
  DESTINATION,
  destinationPolicy,
  newEvent,
  settlement,
  storeTest,
} from "./fixtures.ts";

const HOLD_MS = 60_000;
/** Never opens, so that a test need not wait for probes. */
const QUIET: Partial<GateConfig> = { circuit: { consecutiveFailures: 3, openMs: 1, maxOpenMs: 1 } };

const success = { type: "success" } as const;
const failure = { type: "failure" } as const;
const gone = { type: "gone" } as const;

/** A destination with one copy at a time, whose attempts end as a test says. */
async function start(store: ConformanceStore, gate: Partial<GateConfig> = QUIET, destination = DESTINATION) {
  const outbox: Outbox = await store.outbox([]);
  const policy = destinationPolicy({ destination, limit: 64, gate: { seq: 1, ...gate } });
  const policies = new Map([[destination, policy]]);
  const turn = (settles: readonly Settle[], want: number) =>
    outbox.turn({ settles, takes: [{ destination, want }], policies });
  /** Takes one, if need be after the time of an open circuit. */
  const one = async (): Promise<TakenCopy> => {
    await store.inbox.claim(newEvent({ destinations: [{ destination, limit: 64 }] }));
    for (let tries = 0; tries < 200; tries++) {
      const [copy] = (await turn([], 1)).copies;
      if (copy !== undefined) return copy;
      await sleep(5);
    }
    throw new Error("the gate does not open");
  };
  const settled = (copy: TakenCopy, effect: GateEffect, record: Partial<Settle["record"]> = {}): Settle => {
    const frame = settlement(copy, effect.type === "success" ? "delivered" : "dead");
    const gateOutcome = { ...effect, generation: copy.gateGeneration ?? 0 };
    return { ...frame, gate: gateOutcome, record: { attempt: copy.attempt, at: copy.now, action: "dead", ...record } };
  };
  return {
    one,
    turn,
    settled,
    /** One attempt after another. */
    async attempts(effects: readonly GateEffect[], record?: Partial<Settle["record"]>): Promise<void> {
      for (const effect of effects) await turn([settled(await one(), effect, record)], 0);
    },
  };
}

const times = <T>(n: number, value: T): T[] => Array.from({ length: n }, () => value);
const kinds = (taken: readonly TakenNotice[]) => taken.map(({ notice }) => notice.kind);

/** Makes a reader known, so that it is told of what comes. */
async function listens(store: ConformanceStore, ...readers: readonly NoticeReader[]): Promise<void> {
  for (const reader of readers) expect(await store.notices.take(reader, 1, HOLD_MS)).toEqual([]);
}

function whatIsToldConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("tells of the way to being disabled and back, each step once and with what is known", async (store) => {
    await listens(store, "events");
    const disableAfter = { consecutiveFailures: 8, failingForMs: 1 };
    const destination = await start(store, { ...QUIET, disableAfter });
    await destination.attempts(times(8, failure), { status: 503 });
    await store.ledger.enable(DESTINATION);
    const taken = await store.notices.take("events", 10, HOLD_MS);
    const [first, half, disabled, recovered] = taken.map(({ notice }) => notice);
    expect(kinds(taken)).toEqual(["Failing", "HalfWay", "Disabled", "Recovered"]);
    expect(first).toMatchObject({ destination: DESTINATION, reason: "ConsecutiveFailures", consecutiveFailures: 3 });
    expect(first).toMatchObject({ lastStatus: 503, parked: 0, failingSince: expect.any(Number) as number });
    expect([half?.consecutiveFailures, disabled?.consecutiveFailures]).toEqual([4, 8]);
    expect(recovered).toMatchObject({ reason: "OperatorEnabled" });
    expect(recovered).not.toHaveProperty("lastStatus");
    const ids = taken.map(({ notice }) => Number(notice.id));
    expect(ids.toSorted((a, b) => a - b)).toEqual(ids);
    expect(new Set(ids).size).toBe(4);
  });

  withStore("tells that it recovered at the first success, and then of failures anew", async (store) => {
    await listens(store, "events");
    const destination = await start(store);
    await destination.attempts([...times(4, failure), success, success, ...times(3, failure)], { error: "timeout" });
    const taken = await store.notices.take("events", 10, HOLD_MS);
    expect(kinds(taken)).toEqual(["Failing", "Recovered", "Failing"]);
    expect(taken[0]?.notice.lastError).toBe("timeout");
    expect(taken[1]?.notice).toMatchObject({ reason: "Recovered", consecutiveFailures: 0 });
  });

  withStore("tells nothing of a destination that is fine, or fails now and then", async (store) => {
    await listens(store, "events");
    const destination = await start(store);
    await destination.attempts([success, failure, failure, success, failure, success]);
    expect(await store.notices.take("events", 10, HOLD_MS)).toEqual([]);
  });

  withStore("tells of five failures in a row where no circuit says how many", async (store) => {
    await listens(store, "events");
    const destination = await start(store, {});
    await destination.attempts([...times(4, failure)]);
    expect(await store.notices.take("events", 10, HOLD_MS)).toEqual([]);
    await destination.attempts([failure]);
    expect(kinds(await store.notices.take("events", 10, HOLD_MS))).toEqual(["Failing"]);
  });

  withStore("counts answers that refuse each message: they disable it too", async (store) => {
    await listens(store, "events");
    const destination = await start(store, {});
    await destination.attempts(times(5, { type: "rejected" }), { status: 400 });
    const [taken] = await store.notices.take("events", 10, HOLD_MS);
    expect(taken?.notice).toMatchObject({ kind: "Failing", lastStatus: 400 });
  });

  withStore("is half-way once both the number and the time are", async (store) => {
    await listens(store, "events");
    const destination = await start(store, { disableAfter: { consecutiveFailures: 4, failingForMs: 3_600_000 } });
    await destination.attempts(times(6, failure));
    expect(kinds(await store.notices.take("events", 10, HOLD_MS))).toEqual(["Failing"]);
  });

  withStore("says at once that a destination is gone, with the copies that wait for it", async (store) => {
    await listens(store, "events");
    const destination = await start(store);
    const copy = await destination.one();
    for (let i = 0; i < 3; i++) await store.inbox.claim(newEvent());
    await destination.turn([destination.settled(copy, gone, { status: 410 })], 0);
    const taken = await store.notices.take("events", 10, HOLD_MS);
    expect(kinds(taken)).toEqual(["Disabled"]);
    expect(taken[0]?.notice).toMatchObject({ reason: "Gone", lastStatus: 410, parked: 3 });
  });

  withStore("does not call a disabled destination recovered because an attempt from before succeeds", async (store) => {
    await listens(store, "events");
    const destination = await start(store);
    const early = await destination.one();
    await destination.attempts([gone]);
    await destination.turn([destination.settled(early, success)], 0);
    expect(kinds(await store.notices.take("events", 10, HOLD_MS))).toEqual(["Disabled"]);
    await store.ledger.enable(DESTINATION);
    await store.ledger.enable(DESTINATION);
    expect(kinds(await store.notices.take("events", 10, HOLD_MS))).toEqual(["Recovered"]);
  });

  withStore("keeps no words of a handler", async (store) => {
    await listens(store, "events");
    const destination = await start(store);
    await destination.attempts(times(3, failure), { error: "handler_error: token abc is wrong" });
    expect((await store.notices.take("events", 1, HOLD_MS))[0]?.notice.lastError).toBe("handler_error");
  });
}

function readersConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("begins with the next notice for a reader that asks for the first time", async (store) => {
    const destination = await start(store);
    await destination.attempts([gone]);
    await listens(store, "webhook");
    await store.ledger.enable(DESTINATION);
    expect(kinds(await store.notices.take("webhook", 10, HOLD_MS))).toEqual(["Recovered"]);
  });

  withStore("gives each reader all of them, whatever the others did", async (store) => {
    await listens(store, "webhook", "email");
    const destination = await start(store);
    await destination.attempts([gone]);
    const [forWebhook] = await store.notices.take("webhook", 10, HOLD_MS);
    await store.notices.settle("webhook", [forWebhook?.notice.id ?? ""]);
    const [forEmail] = await store.notices.take("email", 10, HOLD_MS);
    expect(forEmail).toEqual(forWebhook);
    expect(await store.notices.take("webhook", 10, 0)).toEqual([]);
  });

  withStore("gives a notice to one of two that read for the same channel", async (store) => {
    await listens(store, "webhook");
    const destination = await start(store);
    await destination.attempts([gone]);
    await store.ledger.enable(DESTINATION);
    const both = await Promise.all([
      store.notices.take("webhook", 10, HOLD_MS),
      store.notices.take("webhook", 10, HOLD_MS),
    ]);
    expect(kinds(both.flat())).toEqual(["Disabled", "Recovered"]);
  });

  withStore("gives a notice out again when its holder has gone quiet, under the same id", async (store) => {
    await listens(store, "webhook");
    const destination = await start(store);
    await destination.attempts([gone]);
    const [first] = await store.notices.take("webhook", 10, 100);
    expect(await store.notices.take("webhook", 10, 100)).toEqual([]);
    await sleep(120);
    expect(await store.notices.take("webhook", 10, 0)).toEqual([{ ...first, attempt: 2 }]);
    await store.notices.settle("webhook", [first?.notice.id ?? ""]);
    expect(await store.notices.take("webhook", 10, 0)).toEqual([]);
  });

  withStore("gives no later notice of a destination out while an earlier one is postponed", async (store) => {
    await listens(store, "webhook");
    const [destination, other] = [await start(store), await start(store, QUIET, `${DESTINATION}-2`)];
    await destination.attempts([gone]);
    const [first] = await store.notices.take("webhook", 10, HOLD_MS);
    await store.notices.postpone("webhook", first?.notice.id ?? "", 300);
    await store.ledger.enable(DESTINATION);
    await other.attempts([gone]);
    const others = await store.notices.take("webhook", 10, HOLD_MS);
    expect(others.map(({ notice }) => notice.destination)).toEqual([`${DESTINATION}-2`]);
    await sleep(350);
    const both = await store.notices.take("webhook", 10, HOLD_MS);
    expect(kinds(both)).toEqual(["Disabled", "Recovered"]);
    await store.notices.settle(
      "webhook",
      both.map(({ notice }) => notice.id),
    );
    await destination.attempts([gone]);
    expect(kinds(await store.notices.take("webhook", 10, HOLD_MS)), "nothing waits any more").toEqual(["Disabled"]);
  });

  withStore("postpones a notice, whoever holds it, and none that is settled", async (store) => {
    await listens(store, "webhook", "email");
    const destination = await start(store);
    await destination.attempts([gone]);
    const [first] = await store.notices.take("webhook", 10, HOLD_MS);
    const id = first?.notice.id ?? "";
    await store.notices.postpone("webhook", id, 0);
    expect(await store.notices.take("webhook", 10, HOLD_MS)).toEqual([{ ...first, attempt: 2 }]);
    await store.notices.settle("webhook", [id]);
    await store.notices.postpone("webhook", id, 0);
    expect(await store.notices.take("webhook", 10, HOLD_MS)).toEqual([]);
  });
}

/** What is to be told of destinations, and who was told. */
export function noticesConformance(open: Open): void {
  whatIsToldConformance(open);
  readersConformance(open);
}
