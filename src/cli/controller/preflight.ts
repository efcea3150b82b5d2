import { destinationsNamespace, routesNamespace } from "../../api/names.ts";
import type { Config } from "../../config/schema.ts";
import { CLEANUP_POLICIES, CLEANUP_RUNS } from "../../api/cleanup-resources.ts";
import { WEBHOOK_DESTINATIONS } from "../../controllers/webhook-destination/destination-types.ts";
import { WEBHOOK_ROUTES } from "../../controllers/webhook-route/route-types.ts";
import type { KubeClient } from "../../kube/client.ts";
import { NAMESPACES } from "../../kube/core-types.ts";
import { isAtLeast, serverVersion, serves } from "../../kube/discovery.ts";
import { KubeApiError, KubeConfigError, KubeConnectionError } from "../../kube/errors.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import { sleep, systemTimers, type Timers } from "../../lib/timers.ts";
import type { Readiness } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import { missingRights } from "./rights.ts";

/** Oldest API server that is supported. */
const OLDEST = { major: 1, minor: 30 } as const;
/** Time between two looks, ms, and between two lines that say the same. */
const AGAIN_MS = 3_000;
const SAY_AGAIN_MS = 300_000;

export interface PreflightOptions {
  readonly client: KubeClient;
  readonly config: Config;
  readonly logger: Logger;
  readonly timers?: Timers;
}

/** Looks whether a cluster has what a controller needs, and says what to do about each thing that is missing. */
export class Preflight {
  readonly #options: PreflightOptions;
  readonly #timers: Timers;
  #problems: readonly string[] = ["the API server was not asked yet"];
  #told = "";
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: PreflightOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
  }

  /** A readiness with what is missing. */
  and(readiness: Readiness): Readiness {
    if (this.#problems.length === 0) return readiness;
    return { ok: false, problems: this.#problems };
  }

  /** Looks again and again until nothing that must be there is missing, or the signal fires. */
  async passed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { blocking, others } = await this.#look(signal);
      if (signal.aborted) return;
      this.#problems = blocking;
      this.#tell([...blocking, ...others]);
      if (blocking.length === 0) return;
      await sleep(this.#timers, AGAIN_MS, signal);
    }
  }

  async #look(
    signal: AbortSignal,
  ): Promise<{ readonly blocking: readonly string[]; readonly others: readonly string[] }> {
    const { client, config } = this.#options;
    try {
      const version = await serverVersion(client.transport, { signal });
      if (!isAtLeast(version, OLDEST.major, OLDEST.minor)) {
        return blocked(
          `the API server is ${version.gitVersion}, but Davit needs Kubernetes ${OLDEST.major}.${OLDEST.minor} or later: upgrade the cluster`,
        );
      }
      for (const type of [WEBHOOK_ROUTES, WEBHOOK_DESTINATIONS, CLEANUP_POLICIES, CLEANUP_RUNS]) {
        // oxlint-disable-next-line no-await-in-loop -- one remedy for all
        if (!(await serves(client.transport, type, { signal }))) {
          return blocked(
            `the API server knows no ${severalOf(type)}: install the CRDs with the chart, or with: davit crds | kubectl apply --server-side -f -`,
          );
        }
      }
      const { blocking, others } = await missingRights(client, config, signal);
      const missing = blocking.length === 0 ? await this.#missingNamespace(signal) : undefined;
      return missing === undefined ? { blocking, others } : blocked(missing);
    } catch (error) {
      return blocked(explain(error, client));
    }
  }

  async #missingNamespace(signal: AbortSignal): Promise<string | undefined> {
    const { client, config } = this.#options;
    const wanted = {
      [routesNamespace(config.release)]: "the published routes",
      [destinationsNamespace(config.release)]: "the published WebhookDestinations",
    };
    for (const [name, what] of Object.entries(wanted)) {
      // oxlint-disable-next-line no-await-in-loop -- one remedy at a time
      if ((await client.resource(NAMESPACES).find({ name }, { signal })) !== undefined) continue;
      return `namespace ${name}, which holds ${what}, does not exist: the chart creates it; or run: kubectl create namespace ${name}`;
    }
    return undefined;
  }

  #tell(problems: readonly string[]): void {
    const { logger } = this.#options;
    const text = problems.join("\n");
    const now = this.#timers.monotonic();
    if (text === this.#told && now - this.#toldAt < SAY_AGAIN_MS) return;
    if (text === "" && this.#told !== "") logger.info("the cluster has everything that was missing");
    for (const problem of problems) logger.error(problem);
    this.#told = text;
    this.#toldAt = now;
  }
}

/** `WebhookRoutes`, `CleanupPolicies`. */
function severalOf({ kind }: ResourceType): string {
  return `${kind.replace(/y$/, "ie")}s`;
}

function blocked(problem: string): { readonly blocking: readonly string[]; readonly others: readonly string[] } {
  return { blocking: [problem], others: [] };
}

function explain(error: unknown, { transport }: KubeClient): string {
  if (error instanceof KubeConnectionError || error instanceof KubeConfigError || error instanceof KubeApiError) {
    return error.message;
  }
  const code = error instanceof Error ? error.name : String(error);
  return `the API server at ${transport.server} could not be asked (${code}); it is tried again`;
}
