import { onTestFinished } from "vitest";
import { resolveCleanupPolicySpec } from "../../src/api/cleanup-policy-defaults.ts";
import { CLEANUP_POLICIES, CLEANUP_RUNS, type PolicyObject, type RunObject } from "../../src/api/cleanup-resources.ts";
import { cleanupRunName } from "../../src/api/cleanup-run.ts";
import { snapshotOf } from "../../src/api/cleanup-snapshot.ts";
import type { CleanupPolicySpec } from "../../src/api/generated/cleanup-policy.ts";
import type { RecordsFixture, RecordsOwner } from "../../src/cleanup/conformance/records.ts";
import { KubeRunRecords, type KubeRunRecordsOptions } from "../../src/cleanup/records/kubernetes.ts";
import type { KubeAuth } from "../../src/kube/auth.ts";
import { clientOf, testMetrics } from "../../src/kube/conformance/fixtures.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import type { Live } from "../../src/kube/objects.ts";

/** What another than the default of a run is to be. */
export interface RunChange {
  readonly policy?: string;
  readonly uid?: string;
  readonly receivedAt?: string;
}

/** A CleanupPolicy on an API server, as its owner and the controller write it and its runs. */
export class KubePolicy implements RecordsOwner {
  readonly namespace: string;
  readonly name: string;
  readonly #client: KubeClient;
  readonly #spec: CleanupPolicySpec;
  #uid = "";

  constructor(
    client: KubeClient,
    namespace: string,
    options: { readonly name?: string; readonly bucket?: object } = {},
  ) {
    const { name = "labels", bucket = { bucket: "lake" } } = options;
    this.#client = client;
    this.namespace = namespace;
    this.name = name;
    this.#spec = {
      s3: bucket as CleanupPolicySpec["s3"],
      prefixTemplate: "warehouses/{scope}/",
      defaultMode: "Enforce",
      safety: { requireDryRun: false, maxDeletePercent: 100 },
    };
  }

  get uid(): string {
    return this.#uid;
  }

  async create(): Promise<this> {
    const { namespace, name } = this;
    const made = await this.#policies().create({ metadata: { namespace, name }, spec: this.#spec });
    this.#uid = made.metadata.uid;
    return this;
  }

  async suspend(): Promise<void> {
    await this.#policies().mergePatch(this, { spec: { suspend: true } }, {});
  }

  async remove(): Promise<void> {
    await this.#policies().delete(this);
  }

  /** Says that an Enforce run of a scope was completed, as the controller does. */
  async complete(scope: string, lastCutoff: string): Promise<void> {
    const status: NonNullable<PolicyObject["status"]> = { scopes: [{ name: scope, lastCutoff }] };
    await this.#policies().mergePatch(this, { status }, {}, { subresource: "status" });
  }

  async admit(runId: string, scope: string, cutoff: string, change: RunChange = {}): Promise<string> {
    const { policy = this.name, uid = this.#uid, receivedAt } = change;
    const { namespace } = this;
    const name = cleanupRunName({ name: policy, uid }, runId);
    const spec: RunObject["spec"] = {
      policyRef: { name: policy, uid },
      runId,
      scope,
      cutoff,
      trigger: "Push",
      ...(receivedAt !== undefined && { receivedAt }),
    };
    await this.#runs().create({ metadata: { namespace, name }, spec });
    const snapshot = snapshotOf(resolveCleanupPolicySpec(this.#spec), { scope, mode: "Enforce", generation: 1 });
    const status = { phase: "Pending", admittedAt: new Date().toISOString(), snapshot };
    await this.#runs().mergePatch({ namespace, name }, { status }, {}, { subresource: "status" });
    return name;
  }

  run(name: string): Promise<Live<RunObject>> {
    return this.#runs().get({ namespace: this.namespace, name });
  }

  /** Writes some of a run's status, as somebody else does. */
  async writeRun(name: string, status: object): Promise<void> {
    await this.#runs().mergePatch({ namespace: this.namespace, name }, { status }, {}, { subresource: "status" });
  }

  async cancel(name: string): Promise<void> {
    await this.#runs().mergePatch({ namespace: this.namespace, name }, { spec: { cancel: true } }, {});
  }

  async deleteRun(name: string): Promise<void> {
    await this.#runs().delete({ namespace: this.namespace, name });
  }

  #policies() {
    return this.#client.resource(CLEANUP_POLICIES);
  }

  #runs() {
    return this.#client.resource(CLEANUP_RUNS);
  }
}

type ReaderOptions = Partial<Pick<KubeRunRecordsOptions, "onError" | "onRestored" | "idleMs">>;

/** The records of a policy, as a cleaner with these rights has them; they go with the test. */
export function reading(
  { namespace, name: policy }: Pick<KubePolicy, "namespace" | "name">,
  auth: KubeAuth,
  options: ReaderOptions = {},
): KubeRunRecords {
  const records = new KubeRunRecords({ client: clientOf(auth), namespace, policy, metrics: testMetrics(), ...options });
  records.start();
  onTestFinished(() => records.stop());
  return records;
}

/** A policy of its own and two cleaners of it. */
export async function openKubeRecords(owner: KubePolicy, auth: KubeAuth): Promise<RecordsFixture> {
  return { owner, records: reading(owner, auth), others: reading(owner, auth) };
}
