import { describe, expect, test } from "vitest";
import { sha256Parts } from "../lib/hash.ts";
import type { DedupeSource } from "../verification/presets/preset.ts";
import {
  markKey,
  partLabel,
  CLEANUP_RUN_HEADER,
  PROVIDER_ID_HEADER,
  providerIdHash,
  providerIdQuery,
} from "./delivery-id.ts";
import { entryOf, routeOf, secretsOf } from "./testing.ts";

const entry = entryOf({ route: routeOf({}), secrets: secretsOf({ github: { secret: "s" } }) });
const query = (sources: readonly DedupeSource[], id: string) =>
  providerIdQuery({ route: entry.route, dedupe: { ...entry.dedupe, sources } }, id);

describe("the mark of a delivery", () => {
  test("is the first half of SHA-256 over the length-prefixed parts", () => {
    expect(markKey(["r", "header:x", "é"])).toEqual(sha256Parts(["r", "header:x", "é"]).subarray(0, 16));
    expect(markKey(["ab", "c"])).not.toEqual(markKey(["a", "bc"]));
    expect(markKey(["a", ""])).not.toEqual(markKey(["a"]));
  });

  test("names where each part stood", () => {
    expect(partLabel({ from: "header", name: "X-Id", signed: true })).toBe("header:x-id");
    expect(partLabel({ from: "json", pointer: "/Id", signed: true })).toBe("json:/Id");
    expect(partLabel({ from: "form", name: "MessageSid", signed: true })).toBe("form:MessageSid");
  });
});

describe("an id at a provider", () => {
  test("of one part is looked up by its mark", () => {
    const found = query([{ from: "json", pointer: "/id", signed: true }], "evt_1");
    expect(found.marks).toEqual([markKey([entry.route, "json:/id", "evt_1"])]);
    expect(found.windows).toEqual([entry.dedupe.windowMs]);
  });

  test("is looked up as the one part that must be there, when others may be missing", () => {
    const sources: DedupeSource[] = [
      { from: "json", pointer: "/id", signed: true },
      { from: "json", pointer: "/attempt", signed: true, optional: true },
    ];
    expect(query(sources, "1").marks).toHaveLength(1);
  });

  test("of several parts is found among the kept headers only", () => {
    const sources: DedupeSource[] = [
      { from: "header", name: "X-A", signed: true },
      { from: "form", name: "B", signed: true },
    ];
    expect(query(sources, "1")).toMatchObject({ marks: [], headers: [PROVIDER_ID_HEADER, CLEANUP_RUN_HEADER, "x-a"] });
  });

  test("of a rejected delivery is known by 16 hex digits of its hash", () => {
    expect(providerIdHash("evt_1")).toBe(sha256HexOf("evt_1").slice(0, 16));
  });
});

function sha256HexOf(text: string): string {
  return process.getBuiltinModule("node:crypto").hash("sha256", text, "hex");
}
