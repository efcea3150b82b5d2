import type { CleanupRunStatus } from "../../../api/generated/cleanup-run.ts";
import { parseInstant } from "../../../api/cleanup-request.ts";
import { isFinished } from "../../../api/cleanup-run.ts";
import { completedCutoff } from "../../../cleanup/records/completed-cutoff.ts";
import {
  type PolicyRecord,
  RecordConflictError,
  type RunRecord,
  type RunRecords,
} from "../../../cleanup/records/port.ts";
import type { DevRun } from "./cleanup-file.ts";
import type { DevCleanups } from "./dev-cleanups.ts";

/** The runs of one policy of `davit dev`, for what carries them out. */
export class PolicyRecords implements RunRecords {
  readonly #all: DevCleanups;
  readonly #key: string;
  readonly #records = new WeakMap<DevRun, RunRecord>();

  /** @param key `namespace/name` of the policy */
  constructor(all: DevCleanups, key: string) {
    this.#all = all;
    this.#key = key;
  }

  open(): readonly RunRecord[] {
    return this.#all
      .runsOf(this.#key)
      .filter(({ status }) => !isFinished(status))
      .map((run) => this.#recordOf(run));
  }

  policy(): PolicyRecord | undefined {
    const policy = this.#all.policy(this.#key);
    if (policy === undefined) return undefined;
    return {
      uid: policy.uid,
      suspended: policy.spec.suspend ?? false,
      completedCutoff: (scope) => {
        const runs = this.#all.runsOf(this.#key).map((run) => this.#recordOf(run));
        return completedCutoff({ policyUid: policy.uid, scopes: policy.status?.scopes, runs }, scope);
      },
    };
  }

  onChange(listener: () => void): () => void {
    return this.#all.onChange(listener);
  }

  async write({ name, version }: RunRecord, status: CleanupRunStatus): Promise<RunRecord> {
    const [namespace = ""] = this.#key.split("/", 1);
    const written = this.#all.writeStatus(`${namespace}/${name}`, Number(version), status);
    if (written === undefined) throw new RecordConflictError(`run ${name} was written in between, or is gone`);
    return this.#recordOf(written);
  }

  #recordOf(run: DevRun): RunRecord {
    const known = this.#records.get(run);
    if (known !== undefined) return known;
    const { name, version, spec, status = {}, createdAt } = run;
    const receivedAt = Math.min(parseInstant(spec.receivedAt ?? "") ?? createdAt, createdAt);
    const record = { name, uid: name, version: String(version), spec, status, receivedAt };
    this.#records.set(run, record);
    return record;
  }
}
