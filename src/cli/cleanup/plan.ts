import { formatManifestProblem, type Manifests, type PolicyManifest } from "../../api/manifests.ts";
import { parseInstant } from "../../api/cleanup-request.ts";
import { snapshotOf } from "../../api/cleanup-snapshot.ts";
import { planScope } from "../../cleanup/run/plan-scope.ts";
import { parseDuration } from "../../lib/duration.ts";
import { stopSignals } from "../../lib/stop-signals.ts";
import { CommandError, type Io, UsageError, wholeNumber } from "../command.ts";
import { loadManifests } from "../manifest-files.ts";
import { PlanOutput, planFormat } from "./plan-output.ts";
import { storeOptions } from "./store-options.ts";

export const PLAN_OPTIONS = {
  file: { type: "string", short: "f", multiple: true },
  scope: { type: "string" },
  policy: { type: "string" },
  namespace: { type: "string", short: "n" },
  cutoff: { type: "string" },
  output: { type: "string", short: "o" },
  limit: { type: "string", default: "20" },
} as const;

interface PlanValues {
  readonly file?: string[] | undefined;
  readonly scope?: string | undefined;
  readonly policy?: string | undefined;
  readonly namespace?: string | undefined;
  readonly cutoff?: string | undefined;
  readonly output?: string | undefined;
  readonly limit: string;
}

/**
 * A dry run of one scope.
 * @returns exit code: 0 when an Enforce run would do as planned
 * @throws UsageError, CommandError
 */
export async function planPolicyScope(values: PlanValues, io: Io): Promise<number> {
  const { file, scope } = values;
  if (file === undefined) throw new UsageError("name the manifests with -f FILE or -f DIR");
  if (scope === undefined || !/^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/.test(scope)) {
    throw new UsageError(
      "--scope: name a scope: letters, digits, '.', '_' and '-', with a letter or digit at both ends",
    );
  }
  const view = { format: planFormat(values.output), limit: wholeNumber("--limit", values.limit, [0, 10_000]) };
  const manifests = await loadManifests(file);
  const policy = chosenPolicy(manifests, values);
  const cutoff = cutoffOf(values.cutoff, policy);
  const snapshot = snapshotOf(policy.spec, { scope, mode: "DryRun", generation: 0 });
  // The SDK takes some 30 MB, and a second to load: other commands do without.
  const { createS3Store } = await import("../../cleanup/store/s3/s3-store.ts");
  const { store } = createS3Store(storeOptions(snapshot.s3, policy, manifests.secrets));
  const output = new PlanOutput(io, view, { policy: `${policy.namespace}/${policy.name}`, scope, cutoff, snapshot });
  const stopping = stopSignals();
  const { signal } = stopping;
  try {
    const result = await planScope({
      store,
      snapshot,
      cutoff,
      signal,
      onPlanned: (entries) => output.planned(entries),
      onProgress: (counters, pass) => output.progress(counters, pass),
      countFirst: output.hasBar,
    });
    return signal.aborted ? output.stopped() : output.end(result);
  } finally {
    stopping.release();
    store.close();
  }
}

function chosenPolicy({ policies, problems }: Manifests, { policy, namespace }: PlanValues): PolicyManifest {
  const isMeant = (one: { readonly name: string; readonly namespace: string }) =>
    (policy === undefined || one.name === policy) && (namespace === undefined || one.namespace === namespace);
  const found = policies.filter(isMeant);
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  const names = policies.map((one) => `${one.namespace}/${one.name}`).join(", ");
  if (first !== undefined) throw new UsageError(`--policy: there are several: ${names}; say which`);
  const refused = problems.filter(({ kind, problem }) => kind === "CleanupPolicy" && problem.severity === "error");
  if (refused.length > 0) throw new CommandError(refused.map(formatManifestProblem).join("\n"));
  throw new CommandError(
    names === "" ? "-f: there is no CleanupPolicy in the manifests" : `--policy: there is only ${names}`,
  );
}

function cutoffOf(text: string | undefined, { spec: { expireAfter } }: PolicyManifest): number {
  if (text !== undefined) {
    const cutoff = parseInstant(text);
    if (cutoff !== undefined) return cutoff;
    throw new UsageError(`--cutoff: "${text}" is no RFC 3339 time with an offset, such as 2026-01-31T00:00:00Z`);
  }
  if (expireAfter !== undefined) return Date.now() - parseDuration(expireAfter);
  throw new UsageError("--cutoff: name a time, as the policy has no expireAfter");
}
