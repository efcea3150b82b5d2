import { scopeKey, scopeOfRoute } from "../../controllers/webhook-route/workers/worker-scope.ts";
import type { Backlog, Backlogs } from "../../custody/backlog.ts";
import { allSharedBacklogs } from "../../gateway/shared-backlogs.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { usesDestinations } from "../../routes/shared-copies.ts";
import { workOf } from "./scale-work.ts";

/** An answer about the WebhookDestinations of a namespace is good for this long, ms: nobody can have thousands of them looked at in a loop. */
const SHARED_MS = 5_000;

export interface ScaleOptions {
  readonly ledgerFor: (namespace: string) => Backlogs;
  /** Routes of a namespace. */
  readonly entries: (namespace: string) => readonly RouteEntry[];
  /** Monotonic ms. */
  readonly now: () => number;
}

/** Tells autoscalers of the work that waits for workers. */
export class Scale {
  readonly #options: ScaleOptions;
  readonly #shared = new Map<string, { readonly at: number; readonly backlogs: Promise<readonly Backlog[]> }>();

  constructor(options: ScaleOptions) {
    this.#options = options;
  }

  /**
   * Answers `/v1/scale/<namespace>/<shared|route>`; `undefined`: another path. Copies for WebhookDestinations are the shared workers', whatever routes they
   * came from.
   */
  async answer(path: string): Promise<{ readonly status: number; readonly body: object } | undefined> {
    const match = /^\/v1\/scale\/([^/]+)\/([^/]+)$/.exec(path);
    if (match === null) return undefined;
    const [, namespace = "", workers = ""] = match;
    const entries = this.#options.entries(namespace);
    const ofWorkers = (key: string) =>
      entries
        .filter((entry) => scopeKey(scopeOfRoute(entry)) === key)
        .flatMap(({ destinations }) => destinations.map(({ id }) => id));
    // A route may be called `shared` too; Davit itself scales no shared workers, so it comes first.
    const own = ofWorkers(`${namespace}/${workers}`);
    const isShared = own.length === 0 && workers === "shared";
    const ids = isShared ? ofWorkers(namespace) : own;
    const sends = isShared && entries.some(usesDestinations);
    if (ids.length === 0 && !sends) return { status: 404, body: { error: "no such workers" } };
    return this.#work(namespace, ids, sends);
  }

  async #work(namespace: string, ids: readonly string[], sends: boolean) {
    try {
      const shared = sends ? await this.#sharedOf(namespace) : [];
      return { status: 200, body: { value: workOf([...(await this.#inlineOf(namespace, ids)), ...shared]) } };
    } catch {
      return { status: 503, body: { error: "Redis does not answer" } };
    }
  }

  async #inlineOf(namespace: string, ids: readonly string[]): Promise<readonly Backlog[]> {
    return ids.length === 0 ? [] : [...(await this.#options.ledgerFor(namespace).stats(ids)).values()];
  }

  #sharedOf(namespace: string): Promise<readonly Backlog[]> {
    const now = this.#options.now();
    const last = this.#shared.get(namespace);
    if (last !== undefined && now - last.at < SHARED_MS) return last.backlogs;
    for (const [name, { at }] of this.#shared) if (now - at >= SHARED_MS) this.#shared.delete(name);
    const backlogs = allSharedBacklogs(this.#options.ledgerFor(namespace));
    this.#shared.set(namespace, { at: now, backlogs });
    // What failed is asked anew.
    backlogs.catch(() => this.#shared.delete(namespace));
    return backlogs;
  }
}
