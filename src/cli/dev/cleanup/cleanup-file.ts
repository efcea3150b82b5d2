import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { CleanupPolicySpec, CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import type { CleanupRunSpec, CleanupRunStatus } from "../../../api/generated/cleanup-run.ts";

/** A CleanupRun as it lies in the file. Replaced, never changed. */
export interface DevRun {
  readonly namespace: string;
  readonly name: string;
  /** Grows with every write of the status. */
  readonly version: number;
  /** Unix ms. */
  readonly createdAt: number;
  readonly spec: CleanupRunSpec;
  readonly status?: CleanupRunStatus;
}

/** What a CleanupPolicy is beside its manifest. */
export interface DevPolicy {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Grows with every edit of the spec. */
  readonly generation: number;
  /** Unix ms. */
  readonly createdAt: number;
  readonly spec: CleanupPolicySpec;
  readonly status?: CleanupPolicyStatus;
}

interface Stored {
  readonly runs: readonly DevRun[];
  readonly policies: readonly DevPolicy[];
}

const FILE = "cleanup.json";

/** What a cluster keeps in etcd: runs, and the statuses of policies. Keys are `namespace/name`. A policy that is gone from the manifests is kept: its status says what it deleted. */
export class CleanupFile {
  readonly runs: Map<string, DevRun>;
  readonly policies: Map<string, DevPolicy>;
  readonly #path: string;

  /** @throws Error when `cleanup.json` of the data directory cannot be read */
  constructor(dir: string) {
    this.#path = join(dir, FILE);
    const { runs, policies } = read(this.#path);
    this.runs = new Map(runs.map((run) => [keyOf(run), run]));
    this.policies = new Map(policies.map((policy) => [keyOf(policy), policy]));
  }

  /** Writes all of it to disk (0600), whole or not at all: nothing is deleted before what was deleted last is written down. */
  save(): void {
    const stored: Stored = { runs: [...this.runs.values()], policies: [...this.policies.values()] };
    const draft = `${this.#path}.new`;
    const file = openSync(draft, "w", 0o600);
    try {
      writeSync(file, `${JSON.stringify(stored, undefined, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, this.#path);
  }
}

export function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

function read(path: string): Stored {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Stored;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { runs: [], policies: [] };
    const message = `${path} cannot be read: it says which runs there were; delete it to start without any`;
    throw new Error(message, { cause: error });
  }
}
