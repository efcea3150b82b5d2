import type { CleanupRunSpec, CleanupRunStatus } from "../../api/generated/cleanup-run.ts";
import { isFinished } from "../../api/cleanup-run.ts";
import { completedCutoff } from "../records/completed-cutoff.ts";
import { type PolicyRecord, RecordConflictError, type RunRecord, type RunRecords } from "../records/port.ts";

/** What goes wrong with a write: throw before it takes effect, or after, when nobody knows. */
export interface RecordFaults {
  before?(run: RunRecord, status: CleanupRunStatus): void | Promise<void>;
  after?(run: RunRecord, status: CleanupRunStatus): void | Promise<void>;
}

/** Runs of one policy in memory, with faults. Copies what it is given: a status that is changed later is not written. */
export class MemoryRecords implements RunRecords {
  faults: RecordFaults = {};
  suspended = false;
  /** The policy is gone while it is false. */
  hasPolicy = true;
  /** By scope, Unix ms. */
  readonly completed = new Map<string, number>();
  readonly #policyUid: string;
  readonly #runs = new Map<string, RunRecord>();
  readonly #listeners = new Set<() => void>();
  #versions = 0;

  constructor(policyUid: string) {
    this.#policyUid = policyUid;
  }

  add(name: string, spec: CleanupRunSpec, status: CleanupRunStatus, receivedAt: number): RunRecord {
    this.#versions += 1;
    const version = String(this.#versions);
    const run = structuredClone({ name, uid: `uid-${name}`, version, generation: 1, spec, status, receivedAt });
    this.#runs.set(name, run);
    this.changed();
    return run;
  }

  /** As somebody else changes it. */
  edit(name: string, change: Partial<Pick<RunRecord, "spec" | "status">>): void {
    const run = this.run(name);
    this.#versions += 1;
    this.#runs.set(name, { ...run, ...structuredClone(change), version: String(this.#versions) });
    this.changed();
  }

  run(name: string): RunRecord {
    const run = this.#runs.get(name);
    if (run === undefined) throw new RangeError("there is no such run");
    return run;
  }

  /** Tells whoever listens. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Nobody who listened hears anything more: as if its process had died. */
  forgetListeners(): void {
    this.#listeners.clear();
  }

  open(): readonly RunRecord[] {
    return [...this.#runs.values()].filter(({ status }) => !isFinished(status));
  }

  policy(): PolicyRecord | undefined {
    if (!this.hasPolicy) return undefined;
    const policyUid = this.#policyUid;
    return {
      uid: policyUid,
      suspended: this.suspended,
      completedCutoff: (scope) => {
        const scopes = [...this.completed].map(([name, at]) => ({ name, lastCutoff: new Date(at).toISOString() }));
        return completedCutoff({ policyUid, scopes, runs: this.#runs.values() }, scope);
      },
    };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async write(run: RunRecord, status: CleanupRunStatus): Promise<RunRecord> {
    await this.faults.before?.(run, status);
    const now = this.#runs.get(run.name);
    if (now?.version !== run.version) throw new RecordConflictError(`run ${run.name} was changed in between`);
    this.#versions += 1;
    const written = { ...now, version: String(this.#versions), status: structuredClone(status) };
    this.#runs.set(run.name, written);
    await this.faults.after?.(run, status);
    this.changed();
    return written;
  }
}
