import type { ManifestSecrets } from "../../cleanup/store-options.ts";
import { storeOptions } from "../../cleanup/store-options.ts";
import type { PolicyManifest } from "../../../api/manifests.ts";
import { CleanupRunner } from "../../../cleanup/run/runner.ts";
import { systemTimers } from "../../../lib/timers.ts";
import type { Logger } from "../../../observability/logger.ts";
import type { Metrics } from "../../../observability/metrics.ts";
import { keyOf } from "./cleanup-file.ts";
import type { DevCleanups } from "./dev-cleanups.ts";
import { PolicyRecords } from "./policy-records.ts";

interface Running {
  readonly runner: CleanupRunner;
  manifest: PolicyManifest;
}

export interface DevRunnersOptions {
  readonly cleanups: DevCleanups;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Carries out the runs of the policies of `davit dev`: a cleaner for each, in this process. */
export class DevRunners {
  readonly #options: DevRunnersOptions;
  readonly #running = new Map<string, Running>();
  #secrets: ManifestSecrets = new Map();

  constructor(options: DevRunnersOptions) {
    this.#options = options;
  }

  /** One for each of these policies from now on, with these Secrets from the next attempt. */
  async update(policies: readonly PolicyManifest[], secrets: ManifestSecrets): Promise<void> {
    this.#secrets = secrets;
    const keys = new Set(policies.map(keyOf));
    for (const manifest of policies) this.#keep(keyOf(manifest), manifest);
    const gone = [...this.#running].filter(([key]) => !keys.has(key));
    for (const [key] of gone) this.#running.delete(key);
    await Promise.all(gone.map(([, { runner }]) => runner.stop()));
  }

  /** Finishes the batches under way. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ runner }) => runner.stop()));
  }

  #keep(key: string, manifest: PolicyManifest): void {
    const known = this.#running.get(key);
    if (known !== undefined) {
      known.manifest = manifest;
      return;
    }
    const { cleanups, logger, metrics } = this.#options;
    const { namespace, name: policy } = manifest;
    const runner = new CleanupRunner({
      records: new PolicyRecords(cleanups, key),
      storeOf: async ({ s3 }) => {
        // The SDK takes some 30 MB: who has no CleanupPolicy does without.
        const { createS3Store } = await import("../../../cleanup/store/s3/s3-store.ts");
        return createS3Store(storeOptions(s3, this.#running.get(key)?.manifest ?? manifest, this.#secrets));
      },
      holder: `dev-${process.pid}`,
      namespace,
      policy,
      timers: systemTimers,
      logger,
      metrics,
    });
    this.#running.set(key, { runner, manifest });
    runner.start();
  }
}
