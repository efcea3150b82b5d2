import { REJECTED_ANNOTATION, SERVED_SEQ_ANNOTATION, servingLeaseName } from "../../../api/names.ts";
import type { Lease, Pod } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import type { Clock } from "../../../lib/clock.ts";
import { isRecord } from "../../../lib/record.ts";
import type { GatewayPod } from "../status/status-input.ts";

/** What a gateway says on its Lease. */
interface Served {
  /** Highest `seq` it has looked at. */
  readonly seq: number;
  /** Entry Secrets it cannot use: name → `seq`. */
  readonly rejected: ReadonlyMap<string, number>;
  readonly podUid: string | undefined;
  readonly renewTime: string | undefined;
  /** Unix ms at which the Lease was seen to change: our own clock, so that the gateway's does not matter. */
  readonly heardAt: number;
}

/** Which gateway Pods there are and how far each has come. */
export class ServingGateways {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Live<Pod>>();
  readonly #served = new Map<string, Served>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A gateway Pod as the watch shows it; `undefined`: gone. @returns whether another set of Pods is to be waited for */
  putPod(name: string, pod: Live<Pod> | undefined): boolean {
    const before = this.#pods.get(name);
    if (pod === undefined) this.#pods.delete(name);
    else this.#pods.set(name, pod);
    return (before !== undefined && isReady(before)) !== (pod !== undefined && isReady(pod));
  }

  /** A serving Lease as the watch shows it; `undefined`: gone. @returns whether it says more than that the gateway lives */
  putLease(name: string, lease: Live<Lease> | undefined): boolean {
    const before = this.#served.get(name);
    if (lease === undefined) return this.#served.delete(name);
    const next = readServed(lease, this.#clock.now());
    if (before?.renewTime === next.renewTime && before?.seq === next.seq) return false;
    this.#served.set(name, next);
    return before?.seq !== next.seq || !isSame(before.rejected, next.rejected);
  }

  /** Highest `seq` that every Ready gateway has looked at which has not fallen silent; 0 without one. */
  reached(silentMs: number): number {
    const heardSince = this.#clock.now() - silentMs;
    const seqs = [...this.#pods.values()].filter(isReady).flatMap((pod) => {
      const served = this.#servedBy(pod);
      return served === undefined || served.heardAt < heardSince ? [] : [served.seq];
    });
    return seqs.length === 0 ? 0 : Math.min(...seqs);
  }

  /** All gateway Pods, as one publication sees them. */
  seenBy(entrySecretName: string): GatewayPod[] {
    return [...this.#pods.values()].map((pod) => {
      const served = this.#servedBy(pod);
      const rejectedSeq = served?.rejected.get(entrySecretName);
      return {
        name: pod.metadata.name,
        isReady: isReady(pod),
        ...(served === undefined ? {} : { renewedAt: served.heardAt, servedSeq: served.seq }),
        ...(rejectedSeq === undefined ? {} : { rejectedSeq }),
      };
    });
  }

  /** A Lease left behind by an earlier Pod of the name says nothing about this one. */
  #servedBy(pod: Live<Pod>): Served | undefined {
    const served = this.#served.get(servingLeaseName(pod.metadata.name));
    return served?.podUid === undefined || served.podUid === pod.metadata.uid ? served : undefined;
  }
}

function readServed({ metadata, spec }: Live<Lease>, now: number): Served {
  const { annotations = {}, ownerReferences = [] } = metadata;
  const seq = Number(annotations[SERVED_SEQ_ANNOTATION]);
  return {
    seq: Number.isSafeInteger(seq) ? seq : 0,
    rejected: readRejected(annotations[REJECTED_ANNOTATION]),
    podUid: ownerReferences.find(({ kind }) => kind === "Pod")?.uid,
    renewTime: spec?.renewTime,
    heardAt: now,
  };
}

function isReady(pod: Live<Pod>): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  return (pod.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}

function readRejected(text: string | undefined): ReadonlyMap<string, number> {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "{}");
  } catch {
    value = {};
  }
  const pairs = isRecord(value) ? Object.entries(value) : [];
  return new Map(pairs.flatMap(([name, seq]) => (typeof seq === "number" ? [[name, seq] as const] : [])));
}

function isSame(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([name, seq]) => b.get(name) === seq);
}
