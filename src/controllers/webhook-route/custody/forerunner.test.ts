import { expect, test } from "vitest";
import type { OrphanedRoute } from "../../../custody/shelves.ts";
import { forerunnerRefusal, forerunnersIn } from "./forerunner.ts";

const KEY = "0123456789abcdef";

function orphan(more: Partial<OrphanedRoute> = {}): OrphanedRoute {
  const counts = { shelvedAt: 1, events: 3, deadLetters: 0, records: 3 };
  return { route: KEY, name: "orders", namespaceUid: "before", ...counts, ...more };
}

test("what routes of this namespace left on their shelf, or was put there by its key alone, is no earlier namespace's", () => {
  const all = [orphan(), orphan({ namespaceUid: "now" }), orphan({ namespaceUid: "" })];
  expect(forerunnersIn(all, "now")).toEqual([orphan()]);
});

test("an operator is told how to adopt and how to purge", () => {
  const { reason, message } = forerunnerRefusal("shop", [orphan(), orphan()]) ?? {};
  expect(reason).toBe("EarlierNamespace");
  expect(message).toContain(`davit orphans adopt -n shop --from ${KEY} --to shop/orders`);
  expect(message).toContain(`davit orphans purge -n shop ${KEY} --yes`);
  expect(message).toContain("1 more are listed by davit orphans");
  expect(forerunnerRefusal("shop", [])).toBeUndefined();
});
