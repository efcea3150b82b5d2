import { describe, expect, it } from "vitest";
import type { Live } from "../../kube/objects.ts";
import { DestinationIndex } from "./destination-index.ts";
import type { DestinationObject } from "./destination-types.ts";

const KEY = "shop/acme";

function destinationOf(uid: string, resourceVersion: string): Live<DestinationObject> {
  return {
    metadata: { namespace: "shop", name: "acme", uid, resourceVersion, generation: 1 },
    spec: { url: "https://acme.example.com/" },
  };
}

describe("DestinationIndex", () => {
  it("does not bring back a destination that went, or was made anew, while its status was written", () => {
    const index = new DestinationIndex("default");
    index.put(KEY, destinationOf("uid-1", "1"));
    index.putWritten(KEY, destinationOf("uid-1", "2"));
    expect(index.get(KEY)?.metadata.resourceVersion).toBe("2");
    index.remove(KEY);
    index.putWritten(KEY, destinationOf("uid-1", "3"));
    expect(index.get(KEY)).toBeUndefined();
    index.put(KEY, destinationOf("uid-2", "4"));
    index.putWritten(KEY, destinationOf("uid-1", "5"));
    expect(index.get(KEY)?.metadata.uid).toBe("uid-2");
  });
});
