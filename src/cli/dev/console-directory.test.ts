import { describe, expect, it } from "vitest";
import { entryOf, routeOf } from "../../routes/testing.ts";
import { DevConsoleDirectory } from "./console-directory.ts";
import type { DevDestination } from "./destinations.ts";

function destination(id: string, labels: Readonly<Record<string, string>>): DevDestination {
  const [base] = entryOf().destinations;
  if (base === undefined) throw new Error("the route of the tests has no destination");
  const entry = { ...base, id: `~${id}`, name: id, kind: "shared" as const };
  return { namespace: "shop", id, createdAt: 0, labels, tokenHashes: [], entry };
}

describe("DevConsoleDirectory", () => {
  it("says that a route whose events choose reaches those that its selector selects, and none that is not there", () => {
    const spec = { destinationSelector: { matchLabels: { tier: "gold" }, idFrom: "json:/customer" } };
    const { destinations: _, ...rest } = routeOf().spec;
    const route = { ...routeOf(), spec: { ...rest, ...spec } };
    const directory = new DevConsoleDirectory();
    directory.update([entryOf({ route })], [destination("a", { tier: "gold" }), destination("b", { tier: "free" })]);
    const [known] = directory.routes("shop");
    expect(["~a", "~b", "~c"].map((id) => known?.mayReach(id))).toEqual([true, false, false]);
  });
});
