import type { GroupDecision, GroupPlan, Kept } from "../plan/types.ts";
import type { VersionEntry } from "../store/port.ts";
import type { Known } from "./facts.ts";
import type { Refused, SettledGroup } from "./tally.ts";

/** A key and what is to become of its versions. */
export interface DecidedGroup {
  readonly plan: GroupPlan;
  readonly decision: GroupDecision;
  readonly known: Known;
}

/** Why a planned entry stays when an older one of its key was refused. */
const BLOCKED = { Version: "ProtectedSibling", DeleteMarker: "DeleteMarkerNeeded" } as const;

/** A key while its versions are deleted: stage by stage, each once all before it are known to be gone. When one is refused for good, newer ones stay. */
export class GroupWork {
  readonly key: string;
  readonly #entries: readonly VersionEntry[];
  readonly #expired: number;
  readonly #gone = new Set<string>();
  readonly #planned = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #refused: Refused[] = [];
  readonly #blocked: VersionEntry[] = [];
  #kept: readonly Kept[] = [];
  #known: Known = new Map();
  /** Of the stage that is under way. */
  #queue: readonly VersionEntry[] = [];
  #later: readonly (readonly VersionEntry[])[] = [];
  #outstanding = 0;
  #order: ReadonlyMap<string, number> | undefined;

  constructor({ plan, decision, known }: DecidedGroup) {
    this.key = plan.group.key;
    this.#entries = plan.group.entries;
    this.#expired = plan.expired;
    this.decide(decision, known);
  }

  /** Takes a decision over, in place of an earlier one. Nothing may be under way. */
  decide(decision: GroupDecision, known: Known): void {
    const { stages, absent, kept } = decision;
    const open = stages.map((stage) => stage.filter((entry) => !this.#isHeldBack(entry)));
    [this.#queue = [], ...this.#later] = open.filter(({ length }) => length > 0);
    this.#kept = kept;
    this.#known = known;
    for (const { versionId } of absent) this.#gone.add(versionId);
  }

  /** Entries, gone or not. */
  get size(): number {
    return this.#entries.length;
  }

  /** Entries that are not gone, oldest first. */
  get left(): readonly VersionEntry[] {
    return this.#gone.size === 0 ? this.#entries : this.#entries.filter(({ versionId }) => !this.#gone.has(versionId));
  }

  get known(): Known {
    return this.#known;
  }

  /** Versions that may be sent now, oldest first. */
  get ready(): readonly VersionEntry[] {
    if (this.#queue.length > 0 || this.#outstanding > 0) return this.#queue;
    return this.#later[0] ?? [];
  }

  /** Nothing is left to be done. */
  get settled(): boolean {
    return this.#queue.length === 0 && this.#later.length === 0 && this.#outstanding === 0;
  }

  /** Takes up to `most` of {@link ready}: each is to be answered by {@link gone}, {@link refuse} or {@link again}. */
  take(most: number): readonly VersionEntry[] {
    const { ready } = this;
    const taken = ready.slice(0, most);
    if (taken.length === 0) return taken;
    if (this.#queue.length === 0) this.#later = this.#later.slice(1);
    this.#queue = ready.slice(taken.length);
    this.#outstanding += taken.length;
    return taken;
  }

  gone({ versionId }: VersionEntry): void {
    this.#outstanding -= 1;
    this.#planned.add(versionId);
    this.#gone.add(versionId);
  }

  /** It stays, and with it every newer one that has not been sent. */
  refuse(refused: Refused): void {
    this.#outstanding -= 1;
    this.#refused.push(refused);
    this.#planned.add(refused.entry.versionId);
    const at = this.#indexOf(refused.entry);
    const isNewer = (entry: VersionEntry) => this.#indexOf(entry) > at;
    this.#blocked.push(...this.#queue.filter(isNewer), ...this.#later.flat());
    this.#queue = this.#queue.filter((entry) => !isNewer(entry));
    this.#later = [];
  }

  /** It is sent again. @param counts one of its tries is used up */
  again(entry: VersionEntry, counts: boolean): void {
    this.#outstanding -= 1;
    if (counts) this.#tries.set(entry.versionId, this.tries(entry) + 1);
    if (this.#isHeldBack(entry)) this.#blocked.push(entry);
    else this.#queue = [...this.#queue, entry].toSorted((a, b) => this.#indexOf(a) - this.#indexOf(b));
  }

  tries({ versionId }: VersionEntry): number {
    return this.#tries.get(versionId) ?? 0;
  }

  /** Its versions are sent one by one from now on, after as many tries as this. */
  skipTries(entry: VersionEntry, tries: number): void {
    this.#tries.set(entry.versionId, Math.max(tries, this.tries(entry)));
  }

  summary(): SettledGroup {
    const blocked = new Set(this.#blocked.map(({ versionId }) => versionId));
    // Told once, also where a later decision keeps it for a reason of its own.
    const told = new Set([...blocked, ...this.#refused.map(({ entry }) => entry.versionId)]);
    const planned = this.#entries.filter(({ versionId }) => this.#planned.has(versionId) || blocked.has(versionId));
    return {
      left: this.#entries.length - this.#gone.size,
      expired: this.#expired - this.#gone.size,
      planned,
      unfinished: planned.filter(({ versionId }) => !this.#gone.has(versionId)),
      kept: [
        ...this.#kept.filter(({ entry }) => !told.has(entry.versionId)),
        ...this.#blocked.map((entry) => ({ entry, reason: BLOCKED[entry.type] })),
      ],
      refused: this.#refused,
    };
  }

  /** It was refused, or an older one was. */
  #isHeldBack(entry: VersionEntry): boolean {
    return this.#refused.some((one) => this.#indexOf(one.entry) <= this.#indexOf(entry));
  }

  #indexOf({ versionId }: VersionEntry): number {
    this.#order ??= new Map(this.#entries.map((entry, index) => [entry.versionId, index]));
    return this.#order.get(versionId) ?? -1;
  }
}
