import { isSameRun } from "../../api/cleanup-run.ts";
import { isAlreadyExists, KubeApiError } from "../../kube/errors.ts";
import { type Live, slim } from "../../kube/objects.ts";
import { mergePatchOf } from "../webhook-route/children/merge-patch.ts";
import type { CleanupContext } from "./context.ts";
import type { NewRun } from "./plan/schedule.ts";
import type { PlannedEvent, RunView, StatusWrite } from "./plan/views.ts";
import { CLEANUP_RUNS, cleanupRunLabels, type PolicyObject, type RunObject } from "../../api/cleanup-resources.ts";

type Happening = PlannedEvent & { readonly action: string };

/** Writes that a plan asks for, each at most once and only onto what was looked at. */
export class RunWrites {
  readonly #context: CleanupContext;

  constructor(context: CleanupContext) {
    this.#context = context;
  }

  /**
   * Makes runs of a policy. One that is there already and asks for the same is fine: its name says which it is.
   * @throws as every write
   */
  async create(policy: Live<PolicyObject>, runs: readonly NewRun[], signal: AbortSignal): Promise<void> {
    for (const run of runs) await this.#create(policy, run, signal);
  }

  /**
   * Writes statuses of runs. One that somebody wrote in between, or that the API server takes for wrong, does not keep the others from theirs.
   * @throws the first of these, at the end; any other failure at once
   */
  async statuses(namespace: string, writes: readonly StatusWrite[], signal: AbortSignal): Promise<void> {
    let refused: unknown;
    for (const write of writes) {
      try {
        await this.#status(namespace, write, signal);
      } catch (error) {
        if (!isOfOne(error)) throw error;
        refused ??= error;
      }
    }
    if (refused !== undefined) throw refused;
  }

  /** Deletes runs, each only while it is the object that was looked at. */
  async prune(namespace: string, runs: readonly RunView[], signal: AbortSignal): Promise<void> {
    const { client, index, logger } = this.#context;
    for (const { name, uid } of runs) {
      await client.resource(CLEANUP_RUNS).delete({ namespace, name }, { uid, signal });
      if (index.run(`${namespace}/${name}`)?.metadata.uid === uid) index.removeRun(`${namespace}/${name}`);
      logger.debug({ namespace, run: name }, "a finished run was deleted: the history has no room for it");
    }
  }

  async #create(policy: Live<PolicyObject>, { name, spec }: NewRun, signal: AbortSignal): Promise<void> {
    const { client, index } = this.#context;
    const { namespace = "" } = policy.metadata;
    const resource = client.resource(CLEANUP_RUNS);
    const labels = cleanupRunLabels(policy.metadata.name);
    try {
      index.putRun(slim(await resource.create({ metadata: { namespace, name, labels }, spec }, { signal })));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const live = await resource.find({ namespace, name }, { signal });
      // It was deleted in between: the next look decides anew.
      if (live === undefined) throw error;
      index.putRun(slim(live));
      if (!isSameRun(live.spec, spec)) this.#tellConflict(policy, live);
    }
  }

  #tellConflict(policy: Live<PolicyObject>, { metadata, spec }: Live<RunObject>): void {
    const { metrics } = this.#context;
    const { namespace = "", name } = policy.metadata;
    metrics.cleanupRunConflicts.inc({ namespace, policy: name });
    const note = `run ${metadata.name} has the id ${spec.runId} and asks for something else than the schedule does: that time of scope ${spec.scope} gets no run`;
    this.#tell(policy, { type: "Warning", reason: "RunConflict", action: "Schedule", note });
  }

  async #status(namespace: string, { run, status, event }: StatusWrite, signal: AbortSignal): Promise<void> {
    const { client, index } = this.#context;
    const object = index.run(`${namespace}/${run.name}`);
    // Another one by now, or another version: the plan was made for what is no more.
    if (object?.metadata.uid !== run.uid || object.status !== run.status) return;
    const { uid, resourceVersion } = object.metadata;
    const patch = { status: mergePatchOf(run.status ?? {}, status) ?? {} };
    const written = await client
      .resource(CLEANUP_RUNS)
      .mergePatch(object.metadata, patch, { uid, resourceVersion }, { subresource: "status", signal });
    index.putWrittenRun(slim(written));
    if (event !== undefined) this.#tell(object, { ...event, action: "Admit" });
  }

  #tell(regarding: Live<PolicyObject> | Live<RunObject>, { type, reason, action, note }: Happening): void {
    this.#context.events.record(regarding, { type, reason, action, note });
  }
}

/** A refusal of one object, whatever becomes of others. */
function isOfOne(error: unknown): boolean {
  return error instanceof KubeApiError && ["Conflict", "NotFound", "Invalid"].includes(error.code);
}
