import { forerunnerRemedy, forerunnersIn } from "../../controllers/webhook-route/custody/forerunner.ts";
import type { Operator } from "../../controllers/webhook-route/operator.ts";
import type { OrphanedRoute } from "../../custody/shelves.ts";

/**
 * One Event for each route of an earlier namespace, on the route that is likeliest to take its events over. With Redis users `Provisioned` the status says
 * it as well.
 */
export class ForerunnerEvents {
  readonly #told = new Set<string>();

  /** @param orphans of the namespace */
  tell({ routes, namespace: find, events }: Operator, namespace: string, orphans: readonly OrphanedRoute[]): void {
    const uid = find(namespace)?.metadata.uid;
    if (uid === undefined) return;
    for (const orphan of forerunnersIn(orphans, uid)) {
      const route = routes.get(`${namespace}/${orphan.name}`) ?? routes.get(routes.ofNamespace(namespace)[0] ?? "");
      if (route === undefined || this.#told.has(orphan.route)) continue;
      this.#told.add(orphan.route);
      const note = `events of an earlier namespace of this name are kept, ${orphan.events} of them undelivered. Adopt or purge ${forerunnerRemedy(namespace, orphan)}`;
      events.record(route, { type: "Warning", reason: "EarlierNamespace", action: "Shelve", note });
    }
  }
}
