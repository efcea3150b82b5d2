import type { IncomingMessage, ServerResponse } from "node:http";
import type { CleanupRunRef } from "../../api/cleanup-run.ts";
import type { ResourceAttributes } from "../../kube/access-review.ts";
import type { Access, Caller } from "../../kube/access.ts";
import { BEARER_CHALLENGE } from "../../lib/bearer-token.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { send, sendRefusal } from "../respond.ts";
import { authorise, refuse } from "./authorise.ts";
import { QueuedRuns, type QueuedRunsOptions } from "./queued-runs.ts";
import { Refused } from "./refused.ts";
import { type RunAnswer, runAnswer, type RunView } from "./run-view.ts";

const ENDPOINT = "getCleanupRun";

/** What the run resource needs of its surroundings. */
export interface RunResourceOptions extends QueuedRunsOptions {
  readonly runs: RunView;
  readonly access: Access;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Whether the routes are known: until then a run that is not found may be queued. */
  readonly ready: () => boolean;
}

/** `GET /v1/namespaces/{namespace}/cleanup-policies/{policy}/runs/{run_id}`: what became of a push, from the moment it was acknowledged. */
export class RunResource {
  readonly #options: RunResourceOptions;
  readonly #queued: QueuedRuns;

  constructor(options: RunResourceOptions) {
    this.#options = options;
    this.#queued = new QueuedRuns(options);
  }

  /** Answers a request. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, ref: CleanupRunRef): Promise<void> {
    const asking: Asking = { request, response, ref };
    try {
      const right = readingRuns(ref.namespace);
      await authorise(this.#options.access, request, { right, denied: "RunNotAllowed" }, (caller) => {
        asking.caller = caller;
      });
      this.#answer(asking, await this.#find(ref));
    } catch (error) {
      this.#fail(asking, error);
    }
  }

  async #find(ref: CleanupRunRef): Promise<RunAnswer> {
    const { runs, ready } = this.#options;
    const run = await runs.find(ref);
    if (run === "noPolicy") throw refuse("NoSuchPolicy");
    if (run !== "noRun") return runAnswer(run);
    const queued = await this.#queued.find(ref);
    if (queued === "busy") throw refuse("TooManySearches");
    if (queued === "delivered") return await this.#made(ref);
    if (queued === "unknown") throw refuse(ready() ? "NoSuchRun" : "NotReady");
    return queued;
  }

  /** The run was made between the two looks; or long ago, and the history had no room for it. */
  async #made(ref: CleanupRunRef): Promise<RunAnswer> {
    const run = await this.#options.runs.find(ref);
    if (typeof run === "string") throw refuse("NoSuchRun");
    return runAnswer(run);
  }

  #answer({ response }: Asking, answer: RunAnswer): void {
    const body = Buffer.from(JSON.stringify(answer));
    const headers = { "content-type": "application/json", "content-length": body.length, "cache-control": "no-store" };
    send(response, 200, headers, body);
    this.#options.metrics.apiRequests.inc({ endpoint: ENDPOINT, code: "200" });
  }

  #fail({ request, response, ref, caller }: Asking, error: unknown): void {
    const { metrics, logger } = this.#options;
    const refused = error instanceof Refused ? error : refuse("RunUnknown");
    const { refusal, retryAfter, detail } = refused;
    const headers = refusal.status === 401 ? { "www-authenticate": BEARER_CHALLENGE } : {};
    sendRefusal(request, response, refusal, { retryAfter, headers });
    metrics.apiRequests.inc({ endpoint: ENDPOINT, code: String(refusal.status) });
    const { namespace, policy } = ref;
    const line = { namespace, policy, caller: caller?.name, status: refusal.status, reason: refusal.reason };
    if (error instanceof Refused) logger.debug(line, `a run was not told${detail === undefined ? "" : `: ${detail}`}`);
    else logger.error({ ...line, err: error }, "what became of a run cannot be told");
  }
}

interface Asking {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly ref: CleanupRunRef;
  caller?: Caller;
}

/** What a caller must have the right to: a run's name is made by us, so the right is to all runs of the namespace. */
export function readingRuns(namespace: string): ResourceAttributes {
  return { verb: "get", group: "davit.dev", resource: "cleanupruns", namespace, name: "" };
}
