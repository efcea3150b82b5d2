import { keyOf, type Live } from "../../kube/objects.ts";
import { isNewer } from "../../kube/resource-version.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PolicyObject, RunObject } from "../../api/cleanup-resources.ts";
import { policyKeyOf } from "./object-views.ts";

/** A run and since when its lease is as it is, Unix ms. */
export interface KnownRun {
  readonly run: Live<RunObject>;
  readonly leaseSeenAt: number | undefined;
}

/** CleanupPolicies of this release's instance and CleanupRuns that name one, there or not. Keys are `namespace/name`. */
export class CleanupIndex {
  readonly #policies = new Map<string, Live<PolicyObject>>();
  readonly #runs = new Map<string, KnownRun>();
  readonly #byPolicy = new Map<string, Set<string>>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  policy(key: string): Live<PolicyObject> | undefined {
    return this.#policies.get(key);
  }

  run(key: string): Live<RunObject> | undefined {
    return this.#runs.get(key)?.run;
  }

  policies(): IterableIterator<string> {
    return this.#policies.keys();
  }

  /** Keys of all policies that are there or that a run names. */
  *keys(): IterableIterator<string> {
    yield* this.#policies.keys();
    for (const key of this.#byPolicy.keys()) if (!this.#policies.has(key)) yield key;
  }

  policiesIn(namespace: string): readonly Live<PolicyObject>[] {
    return [...this.#policies.values()].filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Runs that name a policy, whatever its UID. */
  runsOf(policy: string): readonly KnownRun[] {
    return [...(this.#byPolicy.get(policy) ?? [])].flatMap((key) => this.#runs.get(key) ?? []);
  }

  /** One is there, or changed, or had its status written. What is older than what is known changes nothing. */
  putPolicy(next: Live<PolicyObject>): void {
    const key = keyOf(next);
    const before = this.#policies.get(key);
    if (!isOlder(next, before)) this.#policies.set(key, keepingSpec(next, before));
  }

  removePolicy(key: string): void {
    this.#policies.delete(key);
  }

  /** As {@link putPolicy}. */
  putRun(next: Live<RunObject>): void {
    const key = keyOf(next);
    const before = this.#runs.get(key);
    if (isOlder(next, before?.run)) return;
    this.removeRun(key);
    this.#runs.set(key, { run: next, leaseSeenAt: this.#leaseSeenAt(next, before) });
    const policy = policyKeyOf(next);
    const others = this.#byPolicy.get(policy);
    if (others === undefined) this.#byPolicy.set(policy, new Set([key]));
    else others.add(key);
  }

  removeRun(key: string): void {
    const before = this.#runs.get(key);
    if (before === undefined) return;
    this.#runs.delete(key);
    const policy = policyKeyOf(before.run);
    const others = this.#byPolicy.get(policy);
    others?.delete(key);
    if (others?.size === 0) this.#byPolicy.delete(policy);
  }

  /** What writes of this process were answered: nothing any more when the watch has told meanwhile that it is gone, or is another one by now. */
  putWrittenPolicy(written: Live<PolicyObject>): void {
    if (this.#policies.get(keyOf(written))?.metadata.uid === written.metadata.uid) this.putPolicy(written);
  }

  putWrittenRun(written: Live<RunObject>): void {
    if (this.run(keyOf(written))?.metadata.uid === written.metadata.uid) this.putRun(written);
  }

  /** By this process's own clock: that of the cleaner may differ. */
  #leaseSeenAt({ metadata, status }: Live<RunObject>, before: KnownRun | undefined): number | undefined {
    const lease = status?.lease;
    if (lease === undefined) return undefined;
    const last = before?.run.metadata.uid === metadata.uid ? before.run.status?.lease : undefined;
    const isSame = last?.token === lease.token && last.renewedAt === lease.renewedAt;
    return isSame ? before?.leaseSeenAt : this.#clock.now();
  }
}

function isOlder(next: Live, before: Live | undefined): boolean {
  if (before?.metadata.uid !== next.metadata.uid) return false;
  return isNewer(before.metadata.resourceVersion, next.metadata.resourceVersion);
}

/** A write of the status leaves the spec as it was: it stays the same object, so that what is known of it need not be found out again. */
function keepingSpec(next: Live<PolicyObject>, before: Live<PolicyObject> | undefined): Live<PolicyObject> {
  const isSame =
    before?.metadata.uid === next.metadata.uid &&
    next.metadata.generation !== undefined &&
    before.metadata.generation === next.metadata.generation;
  return isSame ? { ...next, spec: before.spec } : next;
}
