import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { type DeleteOutcome, StoreError, type VersionEntry } from "../store/port.ts";
import type { StoreCall } from "../testing/memory-store.ts";
import { CUTOFF, OLD, snapshot, World, YOUNG } from "./testing.ts";

const PREFIX = "warehouses/wh-1/";
const KEYS = ["a", "a/b", "a+b", "\u{1F600}", "\uFFFD", "\u0001"].map((key) => `${PREFIX}${key}`);
const OTHERS = ["warehouses/wh-10/a", "warehouses/wh-1", "warehouses/wh-0/z"];
const keyAt = fc.constantFrom(...KEYS);

/** What is there at the beginning. */
const written = fc.record({
  key: fc.constantFrom(...KEYS, ...OTHERS),
  kind: fc.constantFrom("put", "put", "put", "mark", "null"),
  at: fc.constantFrom(OLD, OLD + 1, OLD + 1_000, CUTOFF - 1, CUTOFF, YOUNG),
  protection: fc.constantFrom("none", "none", "none", "none", "hold", "retention", "tag"),
});

/** What somebody else does, right before the nth call of the store. */
const act = fc.record({
  nth: fc.integer({ min: 1, max: 60 }),
  key: keyAt,
  what: fc.constantFrom("put", "mark", "unmark", "take away what is young", "hold", "release"),
});

/** What goes wrong with the nth delete. */
const fault = fc.record({
  nth: fc.integer({ min: 1, max: 12 }),
  what: fc.constantFrom("no answer", "answer lost", "refused", "for now", "unaccounted"),
  which: fc.nat(3),
});

const world = fc.record({
  writes: fc.array(written, { minLength: 1, maxLength: 24 }),
  acts: fc.array(act, { maxLength: 6 }),
  faults: fc.array(fault, { maxLength: 3 }),
  batchSize: fc.constantFrom(1, 2, 5, 200),
  batchesAtOnce: fc.constantFrom(1, 2, 3),
});
type Case = typeof world extends fc.Arbitrary<infer T> ? T : never;

class Adversary {
  readonly timers = new ManualTimers();
  readonly world = new World(this.timers);
  /** A run would take what is thrown in a call for the store's doing. */
  readonly violations: string[] = [];
  readonly #tagged = new Set<string>();
  readonly #case: Case;
  #calls = 0;
  #before: readonly VersionEntry[] = [];

  constructor(of: Case) {
    this.#case = of;
    for (const one of of.writes) this.#write(one);
    const { faults } = this.world.store;
    faults.before = (call) => this.#beforeCall(call);
    faults.after = (call) => this.#afterCall(call);
    faults.outcome = (version, { nth, versions = [] }) => {
      if (version === versions[0]) this.#before = this.world.store.all();
      const found = of.faults.find((one) => one.nth === nth && versions[one.which % versions.length] === version);
      return OUTCOMES[found?.what ?? ""];
    };
  }

  #write({ key, kind, at, protection }: Case["writes"][number]): void {
    const { store } = this.world;
    if (kind === "mark") return void store.mark(key, at);
    store.versioning = kind === "null" ? "Suspended" : "Enabled";
    const until = this.timers.now() + 86_400_000_000;
    const versionId = store.put(key, {
      at,
      tags: protection === "tag" ? [{ key: "keep", value: "" }] : [],
      legalHold: protection === "hold",
      ...(protection === "retention" && { retention: { mode: "Compliance", until } }),
    });
    store.versioning = "Enabled";
    if (protection === "tag" && versionId !== "null") this.#tagged.add(versionId);
  }

  #beforeCall({ verb, nth }: StoreCall): void {
    this.#calls += 1;
    for (const one of this.#case.acts) if (one.nth === this.#calls) this.#act(one);
    const isLost = this.#case.faults.some((one) => one.nth === nth && one.what === "no answer");
    if (verb === "delete" && isLost) throw timeout();
  }

  #act({ key, what }: Case["acts"][number]): void {
    const { store } = this.world;
    const entries = store.all().filter((entry) => entry.key === key && entry.versionId !== "null");
    const [top] = entries;
    const expired = entries.findLast(({ type, lastModified }) => type === "Version" && lastModified < CUTOFF);
    if (what === "put") store.put(key, { at: YOUNG });
    if (what === "mark") store.mark(key, YOUNG);
    if (what === "unmark") for (const entry of entries) if (entry.type === "DeleteMarker") store.remove(entry);
    if (what.startsWith("take") && top !== undefined && top.lastModified >= CUTOFF) store.remove(top);
    if (what === "hold" && expired) store.protect(expired, { legalHold: true });
    if (what === "release" && expired) store.protect(expired, { legalHold: false });
  }

  /** What the run must never do. */
  #afterCall({ verb, versions = [], nth }: StoreCall): void {
    if (verb !== "delete") return;
    const now = this.world.store.all();
    const left = new Set(now.map(({ versionId, key }) => `${key}@${versionId}`));
    const gone = this.#before.filter(({ versionId, key }) => !left.has(`${key}@${versionId}`));
    for (const { key, versionId, lastModified } of gone) {
      const isNamed = versions.some((one) => one.key === key && one.versionId === versionId);
      if (
        !isNamed ||
        !key.startsWith(PREFIX) ||
        versionId === "null" ||
        lastModified >= CUTOFF ||
        this.#tagged.has(versionId)
      )
        this.violations.push(`${key}@${versionId} is gone`);
    }
    for (const key of KEYS)
      if (![undefined, seen(this.#before, key)].includes(seen(now, key))) this.violations.push(`${key} came back`);
    if (this.#case.faults.some((one) => one.nth === nth && one.what === "answer lost")) throw timeout();
  }

  async run(): Promise<void> {
    const exclusions = { ...snapshot().exclusions, tags: [{ key: "keep" }] };
    this.world.store.objectLock = true;
    this.world.addRun({ snapshot: { batchSize: this.#case.batchSize, maxAttempts: 10, exclusions } });
    const runner = this.world.runner({ batchesAtOnce: this.#case.batchesAtOnce });
    runner.start();
    for (let at = 0; at < 200 && this.world.records.open().length > 0; at += 1)
      // oxlint-disable-next-line no-await-in-loop -- time goes on
      await this.timers.advance(5_000);
    const stopped = runner.stop();
    await this.timers.advance(0);
    await stopped;
  }
}

const OUTCOMES: Readonly<Record<string, DeleteOutcome>> = {
  refused: { type: "refused", code: "AccessDenied", retryable: false },
  "for now": { type: "refused", code: "InternalError", retryable: true },
  unaccounted: { type: "unaccounted" },
};

const timeout = () => new StoreError("Timeout", "no answer", { retryable: true });

/** Version that a GET of a key finds. */
function seen(entries: readonly VersionEntry[], key: string): string | undefined {
  const top = entries.find((entry) => entry.key === key);
  return top?.type === "Version" ? top.versionId : undefined;
}

test("whatever somebody else does and the store gets wrong: only what has expired goes, nothing older is seen than before, and the run ends", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (of) => {
      const adversary = new Adversary(of);
      const { store } = adversary.world;
      const others = () => store.all().filter(({ key }) => !key.startsWith(PREFIX));
      const before = others();
      await adversary.run();
      expect(adversary.violations).toEqual([]);
      expect(others()).toEqual(before);
      const { phase, counters = {} } = adversary.world.status();
      expect(phase).toMatch(/^(Succeeded|CompletedWithSkips|Failed)$/);
      const { planned = 0, deleted = 0, alreadyAbsent = 0, kept = 0, failed = 0, expired = 0 } = counters;
      expect(deleted + alreadyAbsent).toBeLessThanOrEqual(planned);
      expect(expired).toBeLessThanOrEqual(deleted + alreadyAbsent + kept + failed);
    }),
    { numRuns: 300 },
  );
});
