import type { Lease } from "./core-types.ts";
import { microTime } from "./micro-time.ts";

/** What decides in a Lease. */
export interface LeaseFacts {
  /** "" while nobody holds it. */
  readonly holder: string;
  readonly resourceVersion: string;
  readonly durationMs: number;
}

/** Reads a Lease; fields that are missing count as "held by nobody". */
export function leaseFacts(lease: Lease): LeaseFacts {
  return {
    holder: lease.spec?.holderIdentity ?? "",
    resourceVersion: lease.metadata.resourceVersion ?? "",
    durationMs: (lease.spec?.leaseDurationSeconds ?? 0) * 1_000,
  };
}

/** Who wants it, and when. */
export interface Claim {
  readonly identity: string;
  readonly durationMs: number;
  /** Unix time, ms. */
  readonly now: number;
}

/** The spec that takes a Lease, or renews it when it is ours. */
export function claimedSpec(current: Lease["spec"], claim: Claim): NonNullable<Lease["spec"]> {
  const renewTime = microTime(claim.now);
  const ours = current?.holderIdentity === claim.identity;
  const taken = current?.holderIdentity ? 1 : 0;
  return {
    ...current,
    holderIdentity: claim.identity,
    leaseDurationSeconds: Math.ceil(claim.durationMs / 1_000),
    acquireTime: ours ? (current.acquireTime ?? renewTime) : renewTime,
    renewTime,
    leaseTransitions: (current?.leaseTransitions ?? 0) + (ours ? 0 : taken),
  };
}

/** The spec of a Lease that its holder lets go: the next candidate takes it at once. */
export function releasedSpec(current: Lease["spec"], now: number): NonNullable<Lease["spec"]> {
  return { ...current, holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTime(now) };
}

/**
 * When others may take a Lease: its duration after we saw it change last, on our own clock. Clocks of different machines are never compared
 * (https://pkg.go.dev/k8s.io/client-go/tools/leaderelection).
 */
export class LeaseObservation {
  #facts: LeaseFacts | undefined;
  #changedAt = 0;

  /** @param monotonic ms, at or after the answer came */
  see(facts: LeaseFacts, monotonic: number): void {
    if (this.#facts?.resourceVersion !== facts.resourceVersion) this.#changedAt = monotonic;
    this.#facts = facts;
  }

  /** Whether `identity` may take it now. */
  freeFor(identity: string, monotonic: number): boolean {
    return this.freeInMs(identity, monotonic) <= 0;
  }

  /** ms until `identity` may take it unless it changes before; Infinity before it was seen. */
  freeInMs(identity: string, monotonic: number): number {
    if (!this.#facts) return Number.POSITIVE_INFINITY;
    const { holder, durationMs } = this.#facts;
    return holder === "" || holder === identity ? 0 : Math.max(0, this.#changedAt + durationMs - monotonic);
  }
}
