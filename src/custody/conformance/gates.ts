import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { GateConfig, GateEffect, GateTransition } from "../gate.ts";
import { MAX_HOLD_MS } from "../gate.ts";
import type { DestinationPolicy, Outbox, Settle, TakenCopy, TurnResult } from "../port.ts";
import {
  type ConformanceStore,
  type Open,
  DESTINATION,
  ROUTE,
  SHORT_LEASE_TIMEOUT_MS,
  destinationPolicy,
  newEvent,
  settlement,
  storeTest,
} from "./fixtures.ts";

const CIRCUIT = { consecutiveFailures: 3, openMs: 300, maxOpenMs: 500 };

/** A policy with a gate of `seq` 1. */
const gated = (gate: Partial<GateConfig> = {}, change: Partial<DestinationPolicy> = {}): DestinationPolicy =>
  destinationPolicy({ gate: { seq: 1, ...gate }, ...change });

/** One process's turns for one destination. */
function worker(outbox: Outbox, policy: DestinationPolicy) {
  const { destination } = policy;
  const policies = new Map([[destination, policy]]);
  const turn = (settles: readonly Settle[], want: number): Promise<TurnResult> =>
    outbox.turn({ settles, takes: [{ destination, want }], policies });
  return {
    turn,
    take: async (want = 16): Promise<readonly TakenCopy[]> => (await turn([], want)).copies,
    /** Settles copies with what they say about the destination; returns the changes that made. */
    tell: async (copies: readonly TakenCopy[], effect: GateEffect): Promise<readonly GateTransition[]> => {
      const outcome = effect.type === "success" ? "delivered" : "retry";
      const settles = copies.map((copy) =>
        settlement(copy, outcome, { delayMs: 0, gate: { ...effect, generation: copy.gateGeneration ?? 0 } }),
      );
      return (await turn(settles, 0)).gates ?? [];
    },
  };
}

/** A store with `count` events and a worker with this policy. */
async function start(store: ConformanceStore, policy: DestinationPolicy, count = 20) {
  for (let i = 0; i < count; i++) await store.inbox.claim(newEvent());
  return worker(await store.outbox([]), policy);
}

const success = { type: "success" } as const;
const failure = { type: "failure" } as const;
const steps = (changes: readonly GateTransition[]) => changes.map(({ from, to, reason }) => [from, to, reason]);

/** Rate and limit, which are kept in the gate with the newest config. */
function limitsConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("takes no more than its rate over all processes, and says when it may take again", async (store) => {
    const policy = gated({ rate: { requests: 5, perMs: 1_000, burst: 3 } });
    const first = await start(store, policy);
    const second = worker(await store.outbox([]), policy);
    expect([(await first.take(2)).length, (await second.take(9)).length]).toEqual([2, 1]);
    const empty = await second.turn([], 9);
    expect(empty.copies).toHaveLength(0);
    const ms = empty.reopenMs?.get(DESTINATION) ?? 0;
    expect(ms).toBeGreaterThan(50);
    expect(ms).toBeLessThanOrEqual(200);
    await sleep(ms);
    expect((await first.take(9)).length + (await second.take(9)).length).toBe(1);
  });

  withStore("never saves up more than the burst", async (store) => {
    const one = await start(store, gated({ rate: { requests: 100, perMs: 1_000, burst: 3 } }));
    expect(await one.take()).toHaveLength(3);
    await sleep(200);
    expect(await one.take()).toHaveLength(3);
  });

  withStore("gives the token of a copy back that was never sent", async (store) => {
    const one = await start(store, gated({ rate: { requests: 1, perMs: 60_000, burst: 2 } }));
    const [a, b] = await one.take();
    await one.turn([settlement(a as TakenCopy, "handedBack"), settlement(b as TakenCopy, "ignored")], 0);
    expect(await one.take()).toHaveLength(2);
  });

  withStore("goes by the newest config, whatever an older process says", async (store) => {
    const old = gated({ seq: 1 }, { limit: 9 });
    const recent = gated({ seq: 2, rate: { requests: 1, perMs: 60_000, burst: 3 } }, { limit: 2 });
    const one = await start(store, old);
    const [copy] = await one.take(1);
    const two = worker(await store.outbox([]), recent);
    expect(await two.take()).toHaveLength(1);
    expect(await one.take(), "the newer limit").toHaveLength(0);
    await one.tell([copy as TakenCopy], success);
    expect(await one.take()).toHaveLength(1);
    expect((await store.ledger.gate(DESTINATION)).config).toMatchObject({ seq: 2, limit: 2, rate: { burst: 3 } });
  });

  withStore("looks at no gate of a destination whose policy has none", async (store) => {
    const one = await start(store, destinationPolicy());
    const copies = await one.take(5);
    expect(await one.tell(copies, { type: "gone" })).toEqual([]);
    expect(await store.ledger.gate(DESTINATION)).toEqual({ state: "Closed", generation: 0, consecutiveFailures: 0 });
    expect(await one.take()).toHaveLength(16);
  });
}

function holdConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("takes nothing while it is held, then one probe decides, and it comes back 1, 2, 4 …", async (store) => {
    const one = await start(store, gated({}, { limit: 5 }), 30);
    const [first, ...others] = await one.take(3);
    const held = await one.tell([first as TakenCopy], { type: "hold", holdMs: 300 });
    expect(steps(held)).toEqual([["Closed", "Held", "RetryAfter"]]);
    await one.tell(others, success);
    const shut = await one.turn([], 9);
    expect([shut.copies.length, shut.waiting.get(DESTINATION)]).toEqual([0, 0]);
    const ms = shut.reopenMs?.get(DESTINATION) ?? 0;
    expect(ms).toBeGreaterThan(100);
    await sleep(ms + 1);
    const probing = await one.turn([], 9);
    expect([probing.copies.length, steps(probing.gates ?? [])]).toEqual([1, [["Held", "HalfOpen", "Probing"]]]);
    expect(await one.take(), "one probe only").toHaveLength(0);
    expect(steps(await one.tell(probing.copies, success))).toEqual([["HalfOpen", "Closed", "Recovered"]]);
    const two = await one.take();
    expect(two).toHaveLength(2);
    await one.tell(two.slice(0, 1), success);
    expect(await one.take()).toHaveLength(3);
    await one.tell(two.slice(1), success);
    expect(await one.take(), "the full limit, less what is in flight").toHaveLength(2);
  });

  withStore("leaves other destinations alone", async (store) => {
    const one = await start(store, gated());
    await one.tell(await one.take(1), { type: "hold", holdMs: 60_000 });
    const other = `${ROUTE}/other`;
    await store.inbox.claim(newEvent({ destinations: [{ destination: other, limit: 4 }] }));
    expect(await worker(await store.outbox([]), gated({}, { destination: other })).take()).toHaveLength(1);
  });

  withStore("is held no longer than 5 minutes by a destination's hint", async (store) => {
    const one = await start(store, gated());
    const [change] = await one.tell(await one.take(1), { type: "hold", holdMs: 86_400_000 });
    expect((change?.until ?? 0) - (change?.at ?? 0)).toBe(MAX_HOLD_MS);
  });

  withStore("is held by hand, and a shorter hold replaces a longer one", async (store) => {
    const one = await start(store, gated());
    await store.ledger.hold(DESTINATION, Date.now() + 3_600_000);
    expect(await one.take()).toHaveLength(0);
    const change = await store.ledger.hold(DESTINATION, Date.now() + 200);
    expect(change).toMatchObject({ from: "Held", to: "Held", reason: "OperatorHold" });
    await sleep(250);
    expect(await one.take()).toHaveLength(1);
  });
}

function circuitConformance(open: Open): void {
  const withStore = storeTest(open);
  /** Opens it with three failures and waits until a probe may go. */
  const opened = async (store: ConformanceStore, change: Partial<DestinationPolicy> = {}) => {
    const one = await start(store, gated({ circuit: CIRCUIT }, { limit: 5, ...change }));
    const copies = await one.take(5);
    const changes = await one.tell(copies.slice(0, 3), failure);
    return { one, rest: copies.slice(3), changes };
  };

  withStore(
    "opens after failures in a row, and for twice as long after each failed probe, up to a most",
    async (store) => {
      const { one, changes, rest } = await opened(store);
      expect(steps(changes)).toEqual([["Closed", "Open", "ConsecutiveFailures"]]);
      await one.tell(rest, { type: "neutral" });
      const lengths = [];
      let until = changes[0]?.until ?? 0;
      lengths.push(until - (changes[0]?.at ?? 0));
      for (let i = 0; i < 2; i++) {
        expect(await one.take()).toHaveLength(0);
        await sleep(Math.max(0, until - Date.now()) + 20);
        const probe = await one.take();
        expect(probe).toHaveLength(1);
        const [again] = await one.tell(probe, failure);
        expect(again).toMatchObject({ from: "HalfOpen", to: "Open", reason: "ProbeFailed" });
        until = again?.until ?? 0;
        lengths.push(until - (again?.at ?? 0));
      }
      expect(lengths).toEqual([300, 500, 500]);
    },
  );

  withStore("is not opened by failures with a success between, nor by refused messages", async (store) => {
    const one = await start(store, gated({ circuit: CIRCUIT }));
    for (const effect of [failure, failure, success, failure, failure] as const) {
      expect(await one.tell(await one.take(1), effect)).toEqual([]);
    }
    for (let i = 0; i < 5; i++) expect(await one.tell(await one.take(1), { type: "rejected" })).toEqual([]);
    expect(await one.tell(await one.take(1), failure)).toEqual([]);
    expect(await store.ledger.gate(DESTINATION)).toMatchObject({ state: "Closed", consecutiveFailures: 8 });
  });

  withStore("changes counters only by attempts of another generation", async (store) => {
    const { one, rest } = await opened(store);
    expect(await one.tell(rest.slice(0, 1), success), "late success while open").toEqual([]);
    expect(await store.ledger.gate(DESTINATION)).toMatchObject({ state: "Open", consecutiveFailures: 0 });
    await sleep(320);
    expect(await one.take(), "the late attempt still has its lease").toHaveLength(0);
    expect(await one.tell(rest.slice(1), { type: "gone" }), "late 410").toEqual([]);
    expect(await store.ledger.gate(DESTINATION)).toMatchObject({ state: "Open", consecutiveFailures: 1 });
    expect(await one.take()).toHaveLength(1);
  });

  withStore("counts an outcome once, however often it is said", async (store) => {
    const one = await start(store, gated({ circuit: CIRCUIT }));
    const copies = await one.take(1);
    for (let i = 0; i < 4; i++) expect(await one.tell(copies, failure)).toEqual([]);
    expect((await store.ledger.gate(DESTINATION)).consecutiveFailures).toBe(1);
  });

  withStore("sends another probe when the first one was handed back or its process is lost", async (store) => {
    const { one, rest } = await opened(store, { timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    await one.tell(rest, { type: "neutral" });
    await sleep(320);
    const [probe] = await one.take();
    await one.turn([settlement(probe as TakenCopy, "handedBack")], 0);
    expect(await one.take()).toHaveLength(1);
    await sleep(150);
    await one.take();
    await sleep(2_050);
    expect(await one.take()).toHaveLength(1);
    expect((await store.ledger.gate(DESTINATION)).state).toBe("HalfOpen");
  });
}

function disablingConformance(open: Open): void {
  const withStore = storeTest(open);
  const disableAfter = { consecutiveFailures: 3, failingForMs: 300 };

  withStore("is disabled only when it failed so often and for so long", async (store) => {
    const one = await start(store, gated({ disableAfter }));
    const refused = { type: "rejected" } as const;
    for (let i = 0; i < 4; i++) expect(await one.tell(await one.take(1), failure)).toEqual([]);
    await one.tell(await one.take(1), success);
    await sleep(350);
    for (const effect of [failure, refused, failure])
      expect(await one.tell(await one.take(1), effect), "often enough, since a moment ago").toEqual([]);
    await one.tell(await one.take(1), success);
    expect(await one.tell(await one.take(1), refused)).toEqual([]);
    await sleep(350);
    expect(await one.tell(await one.take(1), failure), "long enough, not often enough").toEqual([]);
    const [change] = await one.tell(await one.take(1), failure);
    expect(change).toMatchObject({
      from: "Closed",
      to: "Disabled",
      reason: "ConsecutiveFailures",
      consecutiveFailures: 3,
    });
    expect((change?.at ?? 0) - (change?.failingSince ?? 0)).toBeGreaterThan(300);
    expect(await one.take()).toHaveLength(0);
  });

  withStore("is disabled at once when it says that it is gone, and keeps its copies", async (store) => {
    const one = await start(store, gated(), 6);
    expect(steps(await one.tell(await one.take(1), { type: "gone" }))).toEqual([["Closed", "Disabled", "Gone"]]);
    const shut = await one.turn([], 9);
    expect([shut.copies.length, shut.reopenMs?.size]).toEqual([0, 0]);
    expect((await store.ledger.stats([DESTINATION])).get(DESTINATION)).toMatchObject({ waiting: 6, gate: "Disabled" });
    expect(await store.ledger.hold(DESTINATION, Date.now())).toBeUndefined();
    const [never, disabled] = await store.ledger.gates(["~never", DESTINATION]);
    expect(never?.state).toBe("Closed");
    const { config: _, ...view } = await store.ledger.gate(DESTINATION);
    expect(disabled).toEqual(view);
    expect(await store.ledger.gates([])).toEqual([]);
  });

  withStore("when enabled, starts anew with one copy, and old attempts change nothing", async (store) => {
    const one = await start(store, gated({}, { limit: 8 }));
    const [first, ...late] = await one.take(3);
    await one.tell([first as TakenCopy], { type: "gone" });
    const before = await store.ledger.gate(DESTINATION);
    const change = await store.ledger.enable(DESTINATION);
    expect(change).toMatchObject({ from: "Disabled", to: "Closed", reason: "OperatorEnabled", consecutiveFailures: 0 });
    expect(change?.generation).toBe(before.generation + 1);
    expect(await one.tell(late, { type: "gone" })).toEqual([]);
    expect((await store.ledger.gate(DESTINATION)).state).toBe("Closed");
    const one1 = await one.take();
    expect(one1).toHaveLength(1);
    await one.tell(one1, success);
    expect(await one.take()).toHaveLength(2);
    expect(await store.ledger.enable(DESTINATION), "closed already").toBeUndefined();
  });
}

function wakingConformance(open: Open): void {
  const withStore = storeTest(open);
  /** A process that drains as `delivery` does; what the first `refusals` requests say is given, all others succeed. */
  const drain = async (store: ConformanceStore, policy: DestinationPolicy, refusals: GateEffect[] = []) => {
    const outbox = await store.outbox([policy.policy]);
    const one = worker(outbox, policy);
    const seen: string[] = [];
    let [tickets, looks] = [0, 0];
    const stop = await outbox.start({
      onHint: () => undefined,
      onTicket: async (ticket) => {
        tickets++;
        const policies = new Map([[policy.destination, policy]]);
        const takes = [{ destination: policy.destination, want: 0, started: ticket.generation }];
        await outbox.turn({ settles: [], takes, policies });
        do {
          looks++;
          const copies = await one.take();
          for (const copy of copies) {
            const refusal = refusals.shift();
            if (refusal === undefined) seen.push(copy.eventId);
            await one.tell([copy], refusal ?? success);
          }
        } while ((await outbox.done(ticket, policy)) === "more");
      },
    });
    return { seen, stop, tickets: () => tickets, looks: () => looks };
  };
  const until = async (met: () => boolean, ms: number) => {
    for (const end = performance.now() + ms; !met() && performance.now() < end; ) await sleep(10);
    return met();
  };

  withStore("wakes by itself when a hold ends, for copies that came before and meanwhile", async (store) => {
    await store.inbox.claim(newEvent());
    const { seen, stop, tickets } = await drain(store, gated(), [{ type: "hold", holdMs: 1_000 }]);
    expect(await until(() => seen.length === 1, 6_000)).toBe(true);
    await sleep(200);
    expect(tickets(), "no ticket before it ends").toBeLessThan(6);
    await store.ledger.hold(DESTINATION, Date.now() + 1_000);
    const before = tickets();
    await store.inbox.claim(newEvent());
    expect(await until(() => seen.length === 2, 800)).toBe(false);
    expect(tickets(), "nobody is told while it is held").toBe(before);
    expect(await until(() => seen.length === 2, 4_000)).toBe(true);
    await stop();
  });

  withStore("drains at its rate, with nobody asking in between", async (store) => {
    const policy = gated({ rate: { requests: 10, perMs: 1_000, burst: 1 } });
    for (let i = 0; i < 8; i++) await store.inbox.claim(newEvent());
    const { seen, stop, looks } = await drain(store, policy);
    expect(await until(() => seen.length === 8, 8_000)).toBe(true);
    expect(looks()).toBeLessThan(30);
    await stop();
  });

  for (const [state, effect] of [
    ["Disabled", { type: "gone" }],
    ["Held", { type: "hold", holdMs: 60_000 }],
  ] as const) {
    withStore(`takes back what a lost process held while it is ${state}, then costs no ticket`, async (store) => {
      const policy = gated({}, { limit: 3, timeoutMs: SHORT_LEASE_TIMEOUT_MS });
      const one = await start(store, policy, 3);
      const [last, lost] = await one.take(2);
      expect(await one.tell([last as TakenCopy], effect)).toMatchObject([{ to: state }]);
      const { stop, tickets, seen } = await drain(store, policy);
      const found = async () => (await store.ledger.event(lost?.eventId ?? ""))?.copies[0];
      for (const end = performance.now() + 8_000; (await found())?.state === "active" && performance.now() < end; )
        await sleep(50);
      expect(await found()).toMatchObject({ state: "waiting", attempts: [{ action: "unknown" }] });
      await sleep(300);
      const before = tickets();
      expect(before).toBeLessThan(6);
      await sleep(3_000);
      expect([tickets(), seen.length]).toEqual([before, 0]);
      await stop();
    });
  }

  withStore("costs no ticket while it is disabled, and is woken when it is enabled", async (store) => {
    for (let i = 0; i < 3; i++) await store.inbox.claim(newEvent());
    const { seen, stop, tickets } = await drain(store, gated(), [{ type: "gone" }]);
    expect(await until(() => tickets() > 0, 5_000)).toBe(true);
    await sleep(300);
    const before = [tickets(), seen.length];
    await store.inbox.claim(newEvent());
    await sleep(4_500);
    expect([tickets(), seen.length]).toEqual(before);
    await store.ledger.enable(DESTINATION);
    expect(await until(() => seen.length === 4, 3_000)).toBe(true);
    await stop();
  });
}

/** The `gates` part of the suite. */
export function gatesConformance(open: Open): void {
  limitsConformance(open);
  holdConformance(open);
  circuitConformance(open);
  disablingConformance(open);
  wakingConformance(open);
}
