import { routeKey } from "../../api/names.ts";
import type { ReconcileResult } from "../../runtime/reconcile.ts";
import type { Operator } from "./operator.ts";
import { claimIn } from "./publications.ts";

/** A namespace's routes as far as its shelves are concerned. Keys of `routeKey`. */
export interface ShelfRound {
  readonly namespace: string;
  readonly live: ReadonlySet<string>;
  /** Routes that are gone and still have a claim. */
  readonly deleted: readonly { readonly route: string; readonly name: string; readonly namespaceUid: string }[];
}

/** Keeps what deleted routes leave behind. One round may be repeated at any time. */
export interface ShelfKeeper {
  /** @returns ms after which another look makes sense; `undefined`: when a route changes */
  keep(round: ShelfRound, signal: AbortSignal): Promise<number | undefined>;
  /** Namespaces in which there is something on a shelf. */
  namespaces(): Promise<readonly string[]>;
}

/** Puts the events of deleted routes on their shelf, and takes them up again when their route is back. */
export class ShelfReconciler {
  readonly #operator: Operator;
  readonly #keeper: ShelfKeeper;

  constructor(operator: Operator, keeper: ShelfKeeper) {
    this.#operator = operator;
    this.#keeper = keeper;
  }

  /** @param namespace key of this controller */
  async reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { routes, publications } = this.#operator;
    const home = this.#operator.namespace(namespace);
    const keys = routes.ofNamespace(namespace);
    const live = new Set(home === undefined ? [] : keys.map((key) => routeKey(home.metadata.uid, nameIn(key))));
    const deleted = new Map<string, ShelfRound["deleted"][number]>();
    for (const secret of publications.inNamespace(namespace)) {
      const claim = claimIn(secret);
      // One that is still served is not shelved: a gateway may be taking events for it.
      if (claim?.releasedAt === undefined || routes.get(secret.route) !== undefined) continue;
      const route = routeKey(secret.namespaceUid, claim.name);
      deleted.set(route, { route, name: claim.name, namespaceUid: secret.namespaceUid });
    }
    const againInMs = await this.#keeper.keep({ namespace, live, deleted: [...deleted.values()] }, signal);
    return againInMs === undefined ? {} : { requeueAfterMs: againInMs };
  }
}

function nameIn(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
