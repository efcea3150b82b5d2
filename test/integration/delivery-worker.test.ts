import { afterEach, describe, expect, it, vi } from "vitest";
import type { Attempt, AttemptResult } from "../../src/delivery/attempt.ts";
import type { WorkerDestination } from "../../src/delivery/destinations.ts";
import { REPEAT_AFTER_MS } from "../../src/delivery/turn-loop.ts";
import { Worker, type WorkerOptions } from "../../src/delivery/worker.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { FaultOutbox } from "../support/fault-outbox.ts";
import { workerDestination } from "../support/worker-destination.ts";

const ok: AttemptResult = { type: "response", status: 200, head: "", durationMs: 1 };
/** Waits for what must come about, with patience for a busy machine. */
const until = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 5 });
const tick = () => new Promise((resolve) => setTimeout(resolve, 1));

/** Real time, plus what a test adds. */
class ShiftedClock implements Clock {
  shift = 0;
  now(): number {
    return Date.now() + this.shift;
  }
  monotonic(): number {
    return performance.now() + this.shift;
  }
}

/** An attempt whose results the test gives, in the order of the calls. */
function manualAttempt(): {
  attempt: Attempt;
  calls: { id: string; finish: (result: AttemptResult) => void; written: boolean }[];
} {
  const calls: { id: string; finish: (result: AttemptResult) => void; written: boolean }[] = [];
  const attempt: Attempt = (copy, _destination, { beforeWrite }) =>
    new Promise((resolve) => {
      const written = beforeWrite();
      calls.push({ id: copy.eventId, finish: resolve, written });
      if (!written) resolve({ type: "notSent" });
    });
  return { attempt, calls };
}

/** Answers everything at once and counts. */
function answering(result: (id: string, n: number) => AttemptResult = () => ok) {
  const sent: string[] = [];
  const attempt: Attempt = async (copy, _destination, { beforeWrite }) => {
    if (!beforeWrite()) return { type: "notSent" };
    sent.push(copy.eventId);
    await tick();
    return result(copy.eventId, sent.filter((id) => id === copy.eventId).length);
  };
  return { attempt, sent };
}

const workers: Worker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

async function startWorker(
  outbox: FaultOutbox,
  attempt: Attempt,
  options: Partial<WorkerOptions> & { list?: WorkerDestination[] } = {},
) {
  const { list = [workerDestination()], ...rest } = options;
  const destinations = new Map(list.map((destination) => [destination.entry.id, destination]));
  const worker = new Worker({ outbox, attempt, destinations, random: () => 0.5, ...rest });
  workers.push(worker);
  await worker.start();
  return worker;
}

const ID = workerDestination().entry.id;
const outcomes = (outbox: FaultOutbox) => outbox.settled.map(({ outcome }) => outcome);

describe("the drain loop", () => {
  it("delivers a whole lane, then asks whether the ticket is spent and gives it back", async () => {
    const outbox = new FaultOutbox();
    const { attempt, sent } = answering();
    outbox.put(ID, 300);
    await startWorker(outbox, attempt);
    await until(() => expect(outbox.settled.length).toBe(300));
    expect(new Set(sent).size).toBe(300);
    expect(sent.length).toBe(300);
    await until(() => expect(outbox.dones).toBeGreaterThan(0));
    expect(outbox.yielded).toEqual([]);
  });

  it("never has more in flight than the destination's limit, and takes and settles in the same turns", async () => {
    const outbox = new FaultOutbox();
    const destination = workerDestination({ concurrency: 3 });
    let running = 0;
    let most = 0;
    outbox.put(ID, 30);
    await startWorker(
      outbox,
      async () => {
        most = Math.max(most, ++running);
        await tick();
        running -= 1;
        return ok;
      },
      { list: [destination] },
    );
    await until(() => expect(outbox.settled.length).toBe(30));
    expect(most).toBe(3);
    expect(outbox.turns.some(({ settles, takes }) => settles.length > 0 && takes.some(({ want }) => want > 0))).toBe(
      true,
    );
  });

  it("keeps every turn within 64 settles and 64 copies", async () => {
    const outbox = new FaultOutbox();
    const list = [1, 2, 3].map((n) =>
      workerDestination({ id: `00000000000000ab/d${n}`, name: `d${n}`, concurrency: 64 }),
    );
    const { attempt } = answering();
    for (const { entry } of list) outbox.put(entry.id, 200);
    await startWorker(outbox, attempt, { list });
    await until(() => expect(outbox.settled.length).toBe(600));
    for (const { settles, takes } of outbox.turns) {
      expect(settles.length).toBeLessThanOrEqual(64);
      expect(takes.reduce((sum, { want }) => sum + want, 0)).toBeLessThanOrEqual(64);
    }
  });

  it("keeps one turn in flight, and a second one only for a dozen outcomes", async () => {
    const outbox = new FaultOutbox();
    let flying = 0;
    let most = 0;
    const seconds: number[] = [];
    const turn = outbox.turn.bind(outbox);
    outbox.turn = async (request) => {
      most = Math.max(most, ++flying);
      if (flying > 1) seconds.push(request.settles.length);
      try {
        // Long enough for outcomes to arrive meanwhile.
        await new Promise((resolve) => setTimeout(resolve, 5));
        return await turn(request);
      } finally {
        flying -= 1;
      }
    };
    outbox.put(ID, 200);
    await startWorker(outbox, async ({ sequence }) => {
      await new Promise((resolve) => setTimeout(resolve, 1 + (sequence % 7)));
      return ok;
    });
    await until(() => expect(outbox.settled.length).toBe(200));
    expect(most).toBeLessThanOrEqual(2);
    expect(seconds.filter((outcomesInIt) => outcomesInIt < 12)).toEqual([]);
  });

  it("looks again on a hint while it holds the ticket", async () => {
    const outbox = new FaultOutbox();
    const { attempt, calls } = manualAttempt();
    outbox.put(ID, 1);
    await startWorker(outbox, attempt);
    await until(() => expect(calls.length).toBe(1));
    outbox.put(ID, 1);
    await until(() => expect(calls.length).toBe(2));
    for (const call of calls) call.finish(ok);
    await until(() => expect(outbox.settled.length).toBe(2));
  });

  it("keeps a hint that came while the answer to its question was on the way", async () => {
    const outbox = new FaultOutbox();
    const { attempt, calls } = manualAttempt();
    const turn = outbox.turn.bind(outbox);
    let late = true;
    outbox.turn = async (request) => {
      const result = await turn(request);
      if (late) outbox.put(ID, 1);
      late = false;
      return result;
    };
    outbox.put(ID, 1);
    // Time stands still, so that no heartbeat finds what the hint was about.
    await startWorker(outbox, attempt, { clock: { now: () => Date.now(), monotonic: () => 1_000 } });
    await until(() => expect(calls.length).toBe(2));
    for (const call of calls) call.finish(ok);
    await until(() => expect(outbox.settled.length).toBe(2));
  });

  it("takes nothing on a ticket that is on its way back", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const { attempt, calls } = manualAttempt();
    let back = (): void => undefined;
    let asked = 0;
    outbox.yield = () => {
      asked += 1;
      return new Promise((resolve) => (back = resolve));
    };
    outbox.put(ID, 20);
    await startWorker(outbox, attempt, { clock });
    await until(() => expect(calls.length).toBe(16));
    clock.shift += 5_000;
    await until(() => expect(asked).toBe(1));
    for (const call of calls) call.finish(ok);
    await until(() => expect(outbox.settled.length).toBe(16));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(calls.length).toBe(16);
    back();
  });

  it("stops taking for a destination that is suspended while it is drained", async () => {
    const outbox = new FaultOutbox();
    const { attempt, calls } = manualAttempt();
    outbox.put(ID, 20);
    const worker = await startWorker(outbox, attempt);
    await until(() => expect(calls.length).toBe(16));
    worker.update(new Map([[ID, workerDestination({ suspended: true })]]));
    const before = outbox.turns.length;
    for (const call of calls) call.finish(ok);
    await until(() => expect(outbox.settled.length).toBe(16));
    await until(() => expect(outbox.postponed.length).toBe(1));
    expect(outbox.turns.slice(before).flatMap(({ takes }) => takes.filter(({ want }) => want > 0))).toEqual([]);
  });

  it("serves a destination that found no slot as soon as one is free", async () => {
    const outbox = new FaultOutbox();
    const list = [1, 2, 3].map((n) =>
      workerDestination({ id: `00000000000000ab/d${n}`, name: `d${n}`, concurrency: 2 }),
    );
    const { attempt, calls } = manualAttempt();
    for (const { entry } of list) outbox.put(entry.id, 1);
    await startWorker(outbox, attempt, { list, slots: 2 });
    await until(() => expect(calls.length).toBe(2));
    await tick();
    expect(calls.length).toBe(2);
    calls[0]?.finish(ok);
    await until(() => expect(calls.length).toBe(3));
    for (const call of calls) call.finish(ok);
  });

  it("leaves at least half of the slots to others while a destination hangs", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const hanging = workerDestination({
      id: "00000000000000ab/hangs",
      name: "hangs",
      concurrency: 64,
      timeoutMs: 60_000,
    });
    const healthy = workerDestination({ id: "00000000000000ab/well", name: "well", concurrency: 64 });
    const hung: ((result: AttemptResult) => void)[] = [];
    let delivered = 0;
    outbox.put(hanging.entry.id, 4);
    await startWorker(
      outbox,
      (copy) => {
        if (copy.destination === hanging.entry.id) return new Promise((resolve) => hung.push(resolve));
        delivered += 1;
        return Promise.resolve(ok);
      },
      { list: [hanging, healthy], slots: 8, clock },
    );
    await until(() => expect(hung.length).toBe(4));
    clock.shift += 1_100;
    outbox.put(hanging.entry.id, 20);
    outbox.put(healthy.entry.id, 20);
    await until(() => expect(delivered).toBe(20));
    expect(hung.length).toBe(4);
    for (const finish of hung) finish(ok);
    await until(() => expect(hung.length).toBeGreaterThan(4));
    const settling = setInterval(() => hung.splice(0).forEach((finish) => finish(ok)), 5);
    await until(() => expect(outbox.settled.length).toBe(44));
    clearInterval(settling);
  });

  it("yields after 5 s; what is in flight runs on, settles, and permits nothing until a ticket is back", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const { attempt, calls } = manualAttempt();
    outbox.rehand = false;
    outbox.put(ID, 17);
    await startWorker(outbox, attempt, { clock });
    await until(() => expect(calls.length).toBe(16));
    clock.shift += 5_000;
    await until(() => expect(outbox.yielded.length).toBe(1));
    for (const call of calls.slice(0, 16)) call.finish(ok);
    await until(() => expect(outbox.settled.length).toBe(16));
    expect(calls.length).toBe(16);
    outbox.handTicket(ID);
    await until(() => expect(calls.length).toBe(17));
    calls[16]?.finish(ok);
  });

  it("does not spin when the store keeps saying there is more and gives nothing", async () => {
    const outbox = new FaultOutbox();
    const { attempt } = answering();
    outbox.doneAnswer = "more";
    outbox.put(ID, 1);
    await startWorker(outbox, attempt);
    await until(() => expect(outbox.settled.length).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(outbox.dones).toBeLessThan(10);
    outbox.doneAnswer = undefined;
  });

  it("mentions a destination it holds at least once a second although nothing happens there", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const { attempt, calls } = manualAttempt();
    outbox.put(ID, 1);
    await startWorker(outbox, attempt, { clock });
    await until(() => expect(calls.length).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = outbox.turns.length;
    clock.shift += 750;
    await until(() => expect(outbox.turns.length).toBeGreaterThan(before));
    expect(outbox.turns.at(-1)?.takes.map(({ destination }) => destination)).toEqual([ID]);
    calls[0]?.finish(ok);
  });

  it("asks for more tickets when the lane has outgrown those it holds", async () => {
    const outbox = new FaultOutbox();
    const list = [workerDestination({ concurrency: 200 })];
    const { attempt } = answering();
    outbox.put(ID, 500);
    await startWorker(outbox, attempt, { list });
    await until(() => expect(outbox.settled.length).toBe(500));
    expect(outbox.widened[0]).toEqual({ destination: ID, slots: 4 });
  });

  it("tells the store the generation of each ticket in its first turn, once", async () => {
    const outbox = new FaultOutbox();
    const { attempt } = answering();
    outbox.put(ID, 70);
    await startWorker(outbox, attempt);
    await until(() => expect(outbox.dones).toBe(1));
    const started = outbox.turns
      .flatMap(({ takes }) => takes.map((take) => take.started))
      .filter((g) => g !== undefined);
    expect(started).toEqual([0]);
  });
});

describe("outcomes", () => {
  it("puts a failed attempt back with the later of schedule and Retry-After, and tells the story", async () => {
    const lines: { msg: string; level: number }[] = [];
    const logger = createLogger("worker", {
      level: "debug",
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    });
    const outbox = new FaultOutbox();
    const list = [workerDestination({ name: "acme-eu" })];
    outbox.put(ID, 2);
    const { attempt } = answering((id) =>
      id === "event-1" ? { type: "response", status: 429, retryAfter: "120", head: "slow down", durationMs: 3 } : ok,
    );
    const metrics = createMetrics();
    await startWorker(outbox, attempt, { logger, list, metrics });
    await until(() => expect(outbox.settled.length).toBe(2));
    const settle = outbox.settled.find(({ eventId }) => eventId === "event-1");
    expect(settle).toMatchObject({
      outcome: "retry",
      delayMs: 120_000,
      record: {
        attempt: 1,
        status: 429,
        response: "slow down",
        action: "retry",
        delayMs: 120_000,
        delaySource: "retry_after",
      },
    });
    await until(() =>
      expect(lines.map(({ msg }) => msg)).toContain("original released after confirmation; others continued"),
    );
    expect(lines.map(({ msg }) => msg)).toContain(
      "destination acme-eu returned 429; Retry-After 120 parsed; attempt 1 put back for 120 s",
    );
    expect(lines.find(({ msg }) => msg.includes("delivered"))?.level).toBe(20);
    const text = await metrics.registry.metrics();
    expect(text).toContain(
      'davit_delivery_attempts_total{namespace="shop",route="orders",destination="acme-eu",outcome="retry",code_class="4xx"} 1',
    );
    expect(text).toContain('davit_events_delivered_total{namespace="shop",route="orders"} 1');
  });

  it("is dead on the fourth failure of the default schedule", async () => {
    const outbox = new FaultOutbox();
    const retry = { ...workerDestination().entry.retry, type: "schedule" as const, delaysMs: [1, 1, 1], jitter: 0 };
    const { attempt, sent } = answering(() => ({ type: "response", status: 500, head: "", durationMs: 1 }));
    outbox.put(ID, 1);
    await startWorker(outbox, attempt, { list: [workerDestination({ retry })] });
    await until(() => expect(outcomes(outbox)).toEqual(["retry", "retry", "retry", "dead"]));
    expect(sent.length).toBe(4);
    expect(outbox.settled[3]?.record).toMatchObject({ action: "dead", reason: "AttemptsExhausted", attempt: 4 });
  });

  it("retries an attempt that throws, and keeps credentials out of what it stores", async () => {
    const outbox = new FaultOutbox();
    outbox.put(ID, 2);
    await startWorker(outbox, (copy) => {
      if (copy.eventId === "event-1") throw new Error("a bug");
      return Promise.resolve({
        type: "handlerError",
        code: "Error",
        detail: "cannot reach redis://user:hunter2@db/0",
        permanent: true,
        durationMs: 1,
      });
    });
    await until(() => expect(outbox.settled.length).toBe(2));
    expect(outbox.settled.find(({ eventId }) => eventId === "event-1")?.outcome).toBe("retry");
    const dead = outbox.settled.find(({ eventId }) => eventId === "event-2");
    expect(dead).toMatchObject({ outcome: "dead", record: { reason: "Unrecoverable" } });
    expect(JSON.stringify(dead)).not.toContain("hunter2");
  });

  it("ignores events of a type the destination does not want, without sending them", async () => {
    const outbox = new FaultOutbox();
    const { attempt, sent } = answering();
    outbox.put(ID, 1, { eventType: "invoice.paid" });
    outbox.put(ID, 1, { eventType: "order.created" });
    await startWorker(outbox, attempt, { list: [workerDestination({ eventTypes: ["order.*"] })] });
    await until(() => expect(outbox.settled.length).toBe(2));
    expect(new Set(outcomes(outbox))).toEqual(new Set(["ignored", "delivered"]));
    expect(sent).toEqual(["event-2"]);
  });

  it("leaves the copies of unknown and suspended destinations alone, and goes on once they are known", async () => {
    const outbox = new FaultOutbox();
    const suspended = workerDestination({ id: "00000000000000ab/off", suspended: true });
    outbox.put(ID, 1);
    outbox.put(suspended.entry.id, 1);
    const { attempt, sent } = answering();
    const worker = await startWorker(outbox, attempt, { list: [suspended] });
    await until(() => expect(outbox.postponed.length).toBe(2));
    expect(outbox.turns.flatMap(({ takes }) => takes.map(({ want }) => want)).every((want) => want === 0)).toBe(true);
    expect(sent).toEqual([]);
    worker.update(new Map([[ID, workerDestination()]]));
    outbox.handTicket(ID);
    await until(() => expect(sent.length).toBe(1));
  });

  it("sends nothing unsigned: without a usable key copies stay in their lane, which is told once, until there is one", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const lines: string[] = [];
    const logger = createLogger("worker", { level: "warn", destination: { write: (line) => void lines.push(line) } });
    const key = { id: "00000001", use: "Signing" as const, state: "current" as const, since: 0, value: "c2VjcmV0" };
    const signed = (keys: readonly (typeof key & { readonly notAfter?: number })[]) =>
      workerDestination({ signing: { scheme: "StandardWebhooks", header: "webhook-signature", keys } });
    outbox.put(ID, 2);
    const { attempt, sent } = answering();
    const worker = await startWorker(outbox, attempt, { list: [signed([])], clock, logger });
    await until(() => expect(outbox.postponed.length).toBe(1));
    outbox.handTicket(ID);
    await until(() => expect(outbox.postponed.length).toBe(2));
    expect(sent).toEqual([]);
    expect(lines.length).toBe(1);
    expect(lines[0]).toContain("nothing is sent unsigned");

    worker.update(new Map([[ID, signed([{ ...key, notAfter: clock.now() + 60_000 }])]]));
    outbox.handTicket(ID);
    await until(() => expect(sent.length).toBe(2));

    clock.shift += 60_001;
    outbox.put(ID, 1);
    await until(() => expect(outbox.postponed.length).toBe(3));
    expect(sent.length).toBe(2);
    expect(outbox.waiting(ID)).toBe(1);
  });

  it("parks a copy whose destination went away between turn and answer", async () => {
    const outbox = new FaultOutbox();
    let open = (): void => undefined;
    outbox.gate = new Promise((resolve) => (open = resolve));
    const { attempt, sent } = answering();
    outbox.put(ID, 1);
    const worker = await startWorker(outbox, attempt);
    await until(() => expect(outbox.turns.length).toBe(1));
    worker.update(new Map());
    open();
    await until(() => expect(outbox.settled[0]).toMatchObject({ outcome: "parked", delayMs: 5_000 }));
    expect(sent).toEqual([]);
  });

  it("goes by an edited route from the next attempt on", async () => {
    const outbox = new FaultOutbox();
    const seen: string[] = [];
    const retry = { ...workerDestination().entry.retry, type: "schedule" as const, delaysMs: [30], jitter: 0 };
    outbox.put(ID, 1);
    const worker = await startWorker(
      outbox,
      async (_copy, { entry }) => {
        seen.push(entry.target.type === "http" ? entry.target.url : "");
        return seen.length === 1 ? { type: "response", status: 500, head: "", durationMs: 1 } : ok;
      },
      { list: [workerDestination({ retry })] },
    );
    await until(() => expect(seen.length).toBe(1));
    worker.update(
      new Map([[ID, workerDestination({ retry, target: { type: "http", url: "http://127.0.0.1:10/new" } })]]),
    );
    await until(() => expect(seen).toEqual(["http://127.0.0.1:9/hook", "http://127.0.0.1:10/new"]));
  });
});

describe("a store that fails", () => {
  it.each(["ReadOnly", "NoReplicas", "OutOfMemory", "Timeout", "Unreachable", "Loading"] as const)(
    "keeps a known 2xx through %s and settles it without a second call",
    async (code) => {
      const outbox = new FaultOutbox();
      const { attempt, sent } = answering();
      let refusals = 0;
      outbox.fault = ({ settles }) => (settles.length > 0 && ++refusals <= 2 ? { type: "refused", code } : undefined);
      outbox.put(ID, 1);
      await startWorker(outbox, attempt);
      await until(() => expect(outcomes(outbox)).toEqual(["delivered"]));
      expect(refusals).toBe(3);
      expect(sent.length).toBe(1);
    },
  );

  it("repeats a refused settle at least every 500 ms", () => {
    expect(REPEAT_AFTER_MS).toBeLessThanOrEqual(500);
  });

  it("returns copies whose answer was lost, and keeps those that are really in flight", async () => {
    const outbox = new FaultOutbox();
    const { attempt, calls } = manualAttempt();
    outbox.put(ID, 1);
    await startWorker(outbox, attempt);
    await until(() => expect(calls.length).toBe(1));
    let lost = 0;
    outbox.fault = ({ takes }) =>
      takes.some(({ want }) => want > 0) && lost++ === 0 ? { type: "lost", code: "Timeout" } : undefined;
    outbox.put(ID, 5);
    await until(() => expect(calls.length).toBe(6));
    expect(new Set(calls.map(({ id }) => id)).size).toBe(6);
    const adopt = outbox.turns.find((turn) => turn.adopt !== undefined)?.adopt?.get(ID);
    expect(adopt).toEqual([{ eventId: "event-1", fence: 1 }]);
    for (const call of calls) call.finish(ok);
    await until(() => expect(outbox.settled.length).toBe(6));
    expect(outbox.settled.every(({ record }) => record.attempt === 1)).toBe(true);
  });

  it("returns copies of a first answer that was lost when the store was sent a turn twice", async () => {
    const outbox = new FaultOutbox();
    const { attempt, sent } = answering();
    const turn = outbox.turn.bind(outbox);
    let twice = true;
    outbox.turn = async (request) => {
      if (!twice || request.takes.every(({ want }) => want === 0)) return turn(request);
      twice = false;
      const lost = await turn(request);
      expect(lost.copies.length).toBe(4);
      return { ...(await turn(request)), repeated: true };
    };
    outbox.put(ID, 8);
    await startWorker(outbox, attempt, { list: [workerDestination({ concurrency: 4 })] });
    await until(() => expect(outbox.settled.length).toBe(8));
    expect(new Set(sent).size).toBe(8);
    expect(sent.length).toBe(8);
  });

  it("does not send a delivered copy again when the answer to its settle was lost", async () => {
    const outbox = new FaultOutbox();
    const { attempt, sent } = answering();
    let lost = 0;
    outbox.fault = ({ settles }) =>
      settles.length > 0 && lost++ === 0 ? { type: "lost", code: "Timeout" } : undefined;
    outbox.put(ID, 40);
    await startWorker(outbox, attempt);
    await until(() => expect(outbox.settled.length).toBe(40));
    expect(sent.length).toBe(40);
  });

  it("isolates a destination whose script fails, and keeps the others going", async () => {
    const outbox = new FaultOutbox();
    const bad = workerDestination({ id: "00000000000000ab/bad" });
    let broken = true;
    outbox.fault = ({ policies }) =>
      broken && policies.has(bad.entry.id) ? { type: "refused", code: "Script" } : undefined;
    const { attempt, sent } = answering();
    outbox.put(bad.entry.id, 1);
    outbox.put(ID, 50);
    await startWorker(outbox, attempt, { list: [bad, workerDestination()] });
    await until(() => expect(outbox.settled.length).toBe(50));
    expect(sent.length).toBe(50);
    broken = false;
    await until(() => expect(outbox.settled.length).toBe(51));
  });

  it("lets go of an outcome that was fenced off, and says so", async () => {
    const lines: string[] = [];
    const logger = createLogger("worker", { destination: { write: (line) => void lines.push(line) } });
    const outbox = new FaultOutbox();
    const turn = outbox.turn.bind(outbox);
    outbox.turn = async (request) => {
      const result = await turn(request);
      return { ...result, fenced: request.settles.map((_, index) => index) };
    };
    const { attempt, sent } = answering();
    outbox.put(ID, 1);
    await startWorker(outbox, attempt, { logger });
    await until(() => expect(lines.join("")).toContain("outcome came too late"));
    expect(sent.length).toBe(1);
  });
});

describe("the check before the write", () => {
  it("hands a copy back when the turn took so long that the lease might end before the exchange", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const { attempt, calls } = manualAttempt();
    let slow = true;
    outbox.fault = ({ takes }) => {
      if (slow && takes.some(({ want }) => want > 0)) {
        slow = false;
        clock.shift += 5_001;
      }
      return undefined;
    };
    outbox.put(ID, 1);
    await startWorker(outbox, attempt, { clock });
    await until(() => expect(calls.length).toBe(2));
    expect(calls.map(({ written }) => written)).toEqual([false, true]);
    expect(outbox.settled[0]?.outcome).toBe("handedBack");
    calls[1]?.finish(ok);
    await until(() => expect(outcomes(outbox)).toEqual(["handedBack", "delivered"]));
    expect(outbox.settled[1]?.record.attempt).toBe(1);
  });

  it("hands a copy back when its time was over before a connection was there", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    outbox.put(ID, 1);
    let late = true;
    const { attempt } = answering();
    await startWorker(
      outbox,
      (copy, destination, context) => {
        if (late) clock.shift += 15_000;
        late = false;
        return attempt(copy, destination, context);
      },
      { clock },
    );
    await until(() => expect(outcomes(outbox)).toEqual(["handedBack", "delivered"]));
  });
});

describe("stopping", () => {
  it("takes nothing more, hands back what was not written, awaits what was, and leaves fresh tickets", async () => {
    const outbox = new FaultOutbox();
    const written: (() => void)[] = [];
    const attempt: Attempt = (copy, _destination, { beforeWrite, signal }) =>
      new Promise((resolve) => {
        if (copy.sequence % 2 === 0) signal.addEventListener("abort", () => resolve({ type: "notSent" }));
        else if (beforeWrite()) written.push(() => resolve(ok));
      });
    outbox.put(ID, 20);
    const worker = await startWorker(outbox, attempt);
    await until(() => expect(written.length).toBe(8));
    let stopped = false;
    const stopping = worker.stop().then(() => (stopped = true));
    await until(() => expect(outcomes(outbox)).toEqual(Array.from({ length: 8 }, () => "handedBack")));
    expect(stopped).toBe(false);
    for (const finish of written) finish();
    await stopping;
    expect(outcomes(outbox).filter((outcome) => outcome === "delivered").length).toBe(8);
    expect(outbox.leased(ID)).toBe(0);
    expect(outbox.waiting(ID)).toBe(12);
    expect(outbox.yielded.length).toBeGreaterThan(0);
  });

  it("hands back copies that arrive while it stops", async () => {
    const outbox = new FaultOutbox();
    let open = (): void => undefined;
    outbox.gate = new Promise((resolve) => (open = resolve));
    const attempt = vi.fn<Attempt>(answering().attempt);
    outbox.put(ID, 3);
    const worker = await startWorker(outbox, attempt);
    await until(() => expect(outbox.turns.length).toBe(1));
    const stopping = worker.stop();
    open();
    await stopping;
    expect(attempt).not.toHaveBeenCalled();
    expect(outcomes(outbox)).toEqual(["handedBack", "handedBack", "handedBack"]);
  });

  it("takes nothing while the store does not take its ticket back, and drops the ticket in the end", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const { attempt, calls } = manualAttempt();
    let refusedYields = 0;
    outbox.yield = async () => {
      refusedYields += 1;
      throw new Error("refused");
    };
    outbox.put(ID, 40);
    const worker = await startWorker(outbox, attempt, { clock });
    await until(() => expect(calls.length).toBe(16));
    const before = outbox.turns.length;
    const stopping = worker.stop();
    await until(() => expect(refusedYields).toBeGreaterThan(1));
    for (const call of calls) call.finish(ok);
    await until(() => expect(outbox.settled.length).toBe(16));
    clock.shift += 5_001;
    await stopping;
    expect(outbox.turns.slice(before).flatMap(({ takes }) => takes.filter(({ want }) => want > 0))).toEqual([]);
    expect(outbox.waiting(ID)).toBe(24);
  });

  it("refuses a write that would begin after it was told to stop", async () => {
    const outbox = new FaultOutbox();
    let connect = (): void => undefined;
    const connected = new Promise<void>((resolve) => (connect = resolve));
    let begun = 0;
    outbox.put(ID, 1);
    const worker = await startWorker(outbox, async (_copy, _destination, { beforeWrite }) => {
      begun += 1;
      await connected;
      return beforeWrite() ? ok : { type: "notSent" };
    });
    await until(() => expect(begun).toBe(1));
    const stopping = worker.stop();
    connect();
    await stopping;
    expect(outcomes(outbox)).toEqual(["handedBack"]);
  });

  it("gives the store up once its leases have run out, and lets nothing keep the process", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const lines: string[] = [];
    const logger = createLogger("worker", { level: "warn", destination: { write: (line) => void lines.push(line) } });
    const { attempt } = answering();
    outbox.fault = ({ settles }) => (settles.length > 0 ? { type: "refused", code: "Unreachable" } : undefined);
    outbox.rehand = false;
    outbox.put(ID, 3);
    const worker = await startWorker(outbox, attempt, { clock, logger });
    await until(() => expect(outbox.turns.some(({ settles }) => settles.length === 3)).toBe(true));
    let stopped = false;
    const stopping = worker.stop().then(() => (stopped = true));
    await new Promise((resolve) => setTimeout(resolve, 3 * REPEAT_AFTER_MS));
    clock.shift += 15_000;
    await new Promise((resolve) => setTimeout(resolve, 2 * REPEAT_AFTER_MS));
    expect(stopped).toBe(false);
    clock.shift += 5_000;
    await stopping;
    expect(
      lines.some((line) => line.includes("stopping without the store") && line.includes("3 outcomes unsaid")),
    ).toBe(true);
    const turns = outbox.turns.length;
    await new Promise((resolve) => setTimeout(resolve, 2 * REPEAT_AFTER_MS));
    expect(outbox.turns.length).toBe(turns);
  });

  it("waits for requests under way, however long the store has been gone", async () => {
    const outbox = new FaultOutbox();
    const clock = new ShiftedClock();
    const { attempt, calls } = manualAttempt();
    outbox.put(ID, 2);
    const worker = await startWorker(outbox, attempt, { clock });
    await until(() => expect(calls.length).toBe(2));
    let refusing = true;
    outbox.fault = () => (refusing ? { type: "refused", code: "Unreachable" } : undefined);
    calls[0]?.finish(ok);
    let stopped = false;
    const stopping = worker.stop().then(() => (stopped = true));
    await new Promise((resolve) => setTimeout(resolve, 2 * REPEAT_AFTER_MS));
    clock.shift += 60_000;
    await new Promise((resolve) => setTimeout(resolve, 3 * REPEAT_AFTER_MS));
    expect(stopped).toBe(false);
    refusing = false;
    calls[1]?.finish(ok);
    await stopping;
    expect(outcomes(outbox)).toEqual(["delivered", "delivered"]);
  });

  it("goes on settling while the store refuses", async () => {
    const outbox = new FaultOutbox();
    const { attempt } = answering();
    let refusing = true;
    outbox.fault = ({ settles }) =>
      refusing && settles.length > 0 ? { type: "refused", code: "ReadOnly" } : undefined;
    outbox.put(ID, 1);
    const worker = await startWorker(outbox, attempt);
    await until(() => expect(outbox.turns.some(({ settles }) => settles.length > 0)).toBe(true));
    const stopping = worker.stop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    refusing = false;
    await stopping;
    expect(outcomes(outbox)).toEqual(["delivered"]);
  });
});
