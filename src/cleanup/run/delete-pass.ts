import { groupBy } from "../../lib/group-by.ts";
import { sleep } from "../../lib/timers.ts";
import { decideAgain, decidedGroups } from "./decide.ts";
import { RunFailure } from "./failure.ts";
import { type DecidedGroup, GroupWork } from "./group-work.ts";
import { account, type Item } from "./outcomes.ts";
import type { EnforceWork, Position } from "./scope-work.ts";
import { isStale, MAX_TRIES, type Sent, send, StaleFacts } from "./send.ts";
import { Tally } from "./tally.ts";
import type { TallyState } from "./tally.ts";

/** Entries of open keys that are held at most before a batch is sent although it is not full: a key that waits for a retry holds up those after it. */
const MOST_HELD = 20_000;
/** How often batches are made ready anew because what is known of them got too old. */
const FRESHENINGS = 5;
const RETRY_PAUSE_MS = 200;

/** Versions of one call. */
type Batch = readonly Item[];

/**
 * Goes through the prefix and deletes what is planned. Rejects with whatever ends it; everything up to the last commit of the journal is settled.
 * @returns numbers of the pass
 */
export async function deletePass(work: EnforceWork, position: Position, from: TallyState): Promise<TallyState> {
  const pass = new DeletePass(work, position, from);
  for await (const decided of decidedGroups(work, position)) await pass.add(decided);
  await pass.finish();
  return pass.state();
}

class DeletePass {
  readonly #work: EnforceWork;
  readonly #tally: Tally;
  readonly #batchSize: number;
  /** In their order. */
  readonly #open: (GroupWork | DecidedGroup)[] = [];
  #position: Position;
  #ready = 0;
  #held = 0;
  /** Times in a row that nothing of the batches was sent, as what was known got too old. */
  #late = 0;

  constructor(work: EnforceWork, position: Position, from: TallyState) {
    this.#work = work;
    this.#position = position;
    this.#batchSize = work.snapshot.batchSize;
    this.#tally = new Tally(from, work.onOutcome);
  }

  state(): TallyState {
    return this.#tally.state();
  }

  async add(decided: DecidedGroup): Promise<void> {
    for (const entry of decided.decision.absent) this.#tally.gone(entry, "alreadyAbsent");
    const group = decided.plan.group.tooLarge === undefined ? new GroupWork(decided) : decided;
    this.#open.push(group);
    this.#held += heldBy(group);
    if (group instanceof GroupWork) this.#ready += group.ready.length;
    if (this.#open.length === 1 && this.#settle()) this.#work.journal.moved(this.#position, this.#tally.state());
    const wanted = this.#work.batchesAtOnce * this.#batchSize;
    while (this.#ready >= wanted || this.#held >= MOST_HELD) await this.#flush();
  }

  async finish(): Promise<void> {
    while (this.#open.length > 0) await this.#flush();
  }

  async #flush(): Promise<void> {
    const batches = await this.#freshBatches();
    if (batches.length > 0) await this.#send(batches);
    this.#settle();
    this.#ready = [...this.#works()].reduce((sum, { ready }) => sum + ready.length, 0);
    const { journal, bucket, signal } = this.#work;
    if (batches.length === 0) return journal.moved(this.#position, this.#tally.state());
    // The next batches have to know both.
    bucket.prepare(signal);
    await journal.commit(this.#position, this.#tally.state());
  }

  /** The next batches, after everything has been looked at again that may have changed. */
  async #freshBatches(): Promise<readonly Batch[]> {
    const { bucket, manifests, signal, timers } = this.#work;
    for (let tries = 0; tries < FRESHENINGS; tries += 1) {
      await bucket.check(signal);
      await manifests.refresh(signal);
      const next = this.#peek();
      const now = timers.monotonic();
      const stale = next.flat().filter((item) => isStale(item, now) || manifests.isReferenced(item.entry.key));
      if (stale.length === 0) return this.#take(next);
      await this.#decideAgain(stale);
    }
    throw tooSlow();
  }

  /** A key is in one of them only: its newer versions are not sent while of older ones nothing is known. */
  #peek(): readonly Batch[] {
    const batches: Item[][] = [];
    let batch: Item[] = [];
    for (const group of this.#works()) {
      const { ready } = group;
      if (ready.length === 0) continue;
      if (batches.length === 0 || batch.length >= this.#batchSize) {
        if (batches.length === this.#work.batchesAtOnce) break;
        batches.push((batch = []));
      }
      for (const entry of ready.slice(0, this.#batchSize - batch.length)) batch.push({ group, entry });
    }
    return batches;
  }

  #take(next: readonly Batch[]): readonly Batch[] {
    const { maxDeletesPerRun } = this.#work.snapshot.safety;
    const mayBe = maxDeletesPerRun - this.#tally.counters.deleted;
    const [first = []] = next;
    const batches = next.flat().length > mayBe ? [first] : next;
    if (first.length > mayBe)
      throw new RunFailure(
        "TooManyDeletes",
        `the next batch would be over ${maxDeletesPerRun} deletes (safety.maxDeletesPerRun); it is not sent`,
      );
    for (const [group, count] of countByGroup(batches.flat())) group.take(count);
    return batches;
  }

  async #decideAgain(stale: readonly Item[]): Promise<void> {
    const groups = groupBy(stale, ({ group }) => group);
    await Promise.all(
      [...groups].map(async ([group, items]) => {
        const before = new Set(group.left);
        await decideAgain(
          this.#work,
          group,
          items.map(({ entry }) => entry),
        );
        const left = new Set(group.left);
        for (const entry of before) if (!left.has(entry)) this.#tally.gone(entry, "alreadyAbsent");
      }),
    );
  }

  async #send(batches: readonly Batch[]): Promise<void> {
    const { timers, onBatch, signal, journal } = this.#work;
    const sent = await Promise.all(
      batches.map(async (batch) => {
        const begun = timers.monotonic();
        const one = await send(this.#work, batch);
        onBatch(timers.monotonic() - begun);
        return one;
      }),
    );
    const { outcomes, unsent, ended } = together(sent);
    for (const { group, entry } of unsent) group.again(entry, false);
    const { again, denied } = await account(this.#work, outcomes, this.#tally);
    const failure = this.#failure({ items: outcomes, again, denied });
    if (failure !== undefined || (ended !== undefined && !(ended instanceof StaleFacts))) {
      this.#settle();
      await journal.commit(this.#position, this.#tally.state());
      throw failure ?? ended;
    }
    this.#late = ended instanceof StaleFacts && outcomes.size === 0 ? this.#late + 1 : 0;
    if (this.#late >= FRESHENINGS) throw tooSlow();
    if (again.length > 0) await sleep(timers, RETRY_PAUSE_MS, signal);
  }

  #failure(sent: {
    readonly items: ReadonlyMap<Item, unknown>;
    readonly again: readonly string[];
    readonly denied: number;
  }): RunFailure | undefined {
    if (sent.denied > 0 && sent.denied === sent.items.size && this.#tally.counters.deleted === 0)
      return new RunFailure("AccessDenied", "the store refused every delete so far: grant s3:DeleteObjectVersion");
    const tired = [...sent.items.keys()].some(({ group, entry }) => group.tries(entry) >= MAX_TRIES);
    if (!tired) return undefined;
    const code = sent.again[0] ?? "Unaccounted";
    return new RunFailure(
      "StoreUnavailable",
      `a version could not be deleted in ${MAX_TRIES} tries, the last time: ${code}`,
      { retryable: true },
    );
  }

  *#works(): Generator<GroupWork> {
    for (const group of this.#open) if (group instanceof GroupWork) yield group;
  }

  /** Counts the keys at the front that are settled. @returns whether there was one */
  #settle(): boolean {
    let settled = 0;
    for (const group of this.#open) {
      if (group instanceof GroupWork && !group.settled) break;
      this.#count(group);
      this.#held -= heldBy(group);
      settled += 1;
    }
    this.#open.splice(0, settled);
    return settled > 0;
  }

  #count(group: GroupWork | DecidedGroup): void {
    if (group instanceof GroupWork) {
      const summary = group.summary();
      this.#tally.settled(summary);
      if (summary.planned.length > 0) this.#work.onPlanned(summary.planned);
      this.#position = { ...this.#position, lastKey: group.key };
      return;
    }
    this.#tally.settledTooLarge(group.plan);
    this.#position = { ...this.#position, lastKey: group.plan.group.key };
  }
}

/** What became of batches that were sent side by side. That one of them ended for good counts more than that facts of another got old. */
function together(sent: readonly Sent[]): Sent {
  const ends = sent.flatMap(({ ended }) => (ended === undefined ? [] : [ended]));
  return {
    outcomes: new Map(sent.flatMap(({ outcomes }) => [...outcomes])),
    unsent: sent.flatMap(({ unsent }) => unsent),
    ended: ends.find((ended) => !(ended instanceof StaleFacts)) ?? ends[0],
  };
}

function tooSlow(): RunFailure {
  const message = "what the store says of a batch, or of manifests, gets too old before it can be deleted";
  return new RunFailure("StoreTooSlow", message, { retryable: true });
}

/** Entries, and the key itself. */
function heldBy(group: GroupWork | DecidedGroup): number {
  return group instanceof GroupWork ? group.size + 1 : 1;
}

function countByGroup(items: readonly Item[]): ReadonlyMap<GroupWork, number> {
  const counts = new Map<GroupWork, number>();
  for (const { group } of items) counts.set(group, (counts.get(group) ?? 0) + 1);
  return counts;
}
