import { describe, expect, test } from "vitest";
import { serverRoute } from "./options.ts";
import { resolveQueue } from "./queue.ts";

describe("the route of createServer", () => {
  test("tells deliveries apart as the provider's preset says, also those without an id", () => {
    const dedupe = (provider?: string) =>
      serverRoute(resolveQueue({}), { secret: "a secret of a test", ...(provider !== undefined && { provider }) })
        .dedupe;
    expect(dedupe()).toMatchObject({ sources: [], withoutId: "Signature" });
    expect(dedupe("dropbox")).toMatchObject({ sources: [], withoutId: "None" });
    expect(dedupe("stripe")).toMatchObject({ sources: [{ pointer: "/id" }], withoutId: "Signature" });
  });
});
