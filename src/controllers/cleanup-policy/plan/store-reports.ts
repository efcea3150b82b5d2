import type { CleanupRunStatus, CleanupSnapshot } from "../../../api/generated/cleanup-run.ts";
import { STORE_REASONS, type StoreReason } from "../../../api/store-reasons.ts";
import { finishedAt, instant, type RunView } from "./views.ts";

/** How the store was when a run last asked it. */
export type StoreReport =
  | { readonly isReachable: true; readonly at: number }
  | { readonly isReachable: false; readonly at: number; readonly reason: StoreReason; readonly message: string };

/**
 * The newest report of any run over this very store; runs over the one that the policy named before say nothing.
 * @returns `undefined` before any
 */
export function storeReport(runs: readonly RunView[], s3: CleanupSnapshot["s3"]): StoreReport | undefined {
  const here = JSON.stringify(sorted(s3));
  return runs
    .filter(({ status }) => status?.snapshot !== undefined && JSON.stringify(sorted(status.snapshot.s3)) === here)
    .flatMap(reportsOf)
    .toSorted((a, b) => a.at - b.at || Number(a.isReachable) - Number(b.isReachable))
    .at(-1);
}

function reportsOf(run: RunView): readonly StoreReport[] {
  const { phase, snapshot, lastError } = run.status ?? {};
  const hasAsked = snapshot?.mode !== "RecordOnly" && (phase === "Succeeded" || phase === "CompletedWithSkips");
  const good: StoreReport[] = hasAsked ? [{ isReachable: true, at: finishedAt(run) }] : [];
  const bad = badReport(run, lastError);
  return bad === undefined ? good : [bad, ...good];
}

function badReport(run: RunView, error: CleanupRunStatus["lastError"]): StoreReport | undefined {
  const { phase, reason = "", message = "" } = run.status ?? {};
  const told = error ?? (phase === "Failed" ? { reason, message, at: undefined } : undefined);
  const known = STORE_REASONS.find((one) => one === told?.reason);
  if (told === undefined || known === undefined) return undefined;
  return { isReachable: false, at: instant(told.at) ?? finishedAt(run), reason: known, message: told.message };
}

function sorted(s3: CleanupSnapshot["s3"]): readonly unknown[] {
  const { endpoint = "", region, bucket, forcePathStyle, checksum } = s3;
  return [endpoint, region, bucket, forcePathStyle, checksum];
}
