import { describe, expect, it } from "vitest";
import { entryOf } from "../routes/testing.ts";
import { DestinationLabels } from "./destination-labels.ts";
import type { WorkerDestination } from "./destinations.ts";
import { workerDestinations } from "./worker-destinations.ts";

function destination(name: string, kind: "inline" | "shared"): WorkerDestination {
  const [known] = workerDestinations([entryOf()]).values();
  if (known === undefined) throw new Error("the route of the tests has no destination");
  return { ...known, entry: { ...known.entry, name, kind } };
}

describe("DestinationLabels", () => {
  it("names so many WebhookDestinations and no more, always the same ones", () => {
    const labels = new DestinationLabels(2);
    const asked = ["a", "b", "c", "a", "d", "b"].map((name) => labels.of(destination(name, "shared")));
    expect(asked).toEqual(["a", "b", "OTHERS", "a", "OTHERS", "b"]);
  });

  it("names inline destinations whatever else there is", () => {
    const labels = new DestinationLabels(0);
    expect(["a", "b"].map((name) => labels.of(destination(name, "inline")))).toEqual(["a", "b"]);
  });
});
