import type { OrphanedRoute } from "../../../custody/shelves.ts";
import type { Refusal } from "../exposure/host-policy.ts";

/**
 * What lies on shelves for routes of an earlier namespace of the same name: one that was deleted and made anew is another tenant, who must not read it.
 * A route that was shelved by its key only, as by `davit orphans adopt`, is nobody's in particular.
 *
 * @param orphans of one namespace name
 * @param namespaceUid of the namespace that there is now
 */
export function forerunnersIn(orphans: readonly OrphanedRoute[], namespaceUid: string): readonly OrphanedRoute[] {
  return orphans.filter((orphan) => orphan.namespaceUid !== "" && orphan.namespaceUid !== namespaceUid);
}

/** What an operator can do about one. */
export function forerunnerRemedy(namespace: string, { route, name }: OrphanedRoute): string {
  const what = `${route}${name === "" ? "" : ` (${namespace}/${name})`}`;
  const to = `${namespace}/${name === "" ? "ROUTE" : name}`;
  return `${what}: davit orphans adopt -n ${namespace} --from ${route} --to ${to} gives them to that route, davit orphans purge -n ${namespace} ${route} --yes removes them`;
}

/** Why workers of a namespace are not let in; `undefined` when nothing of another one is left. */
export function forerunnerRefusal(namespace: string, forerunners: readonly OrphanedRoute[]): Refusal | undefined {
  const [first] = forerunners;
  if (first === undefined) return undefined;
  const others = forerunners.length === 1 ? "" : `; ${forerunners.length - 1} more are listed by davit orphans`;
  return {
    reason: "EarlierNamespace",
    message: `events of an earlier namespace of this name are kept, so workers get no Redis user yet. Adopt or purge ${forerunnerRemedy(namespace, first)}${others}`,
  };
}
