import { describe, expect, it } from "vitest";
import { parseInstant, readCleanupRequest } from "./cleanup-request.ts";

const BODY = { run_id: "r-1", scope: "wh-17", expired_before: "2026-01-31T00:00:00Z" };

describe("the JSON of a push to a cleanup destination", () => {
  it("is a run's id, its scope under either name, and its cutoff", () => {
    const { scope, ...rest } = BODY;
    const request = { runId: "r-1", scope: "wh-17", cutoff: Date.UTC(2026, 0, 31) };
    expect(readCleanupRequest(BODY)).toEqual({ ok: true, request });
    expect(readCleanupRequest({ ...rest, warehouse_id: scope, more: [1] })).toEqual({ ok: true, request });
    expect(readCleanupRequest({ ...BODY, warehouse_id: scope })).toEqual({ ok: true, request });
  });

  it.each([
    ["run_id", [BODY]],
    ["run_id", "text"],
    ["run_id", null],
    ["run_id", { ...BODY, run_id: undefined }],
    ["run_id", { ...BODY, run_id: 17 }],
    ["run_id", { ...BODY, run_id: "" }],
    ["run_id", { ...BODY, run_id: "a b" }],
    ["run_id", { ...BODY, run_id: "é" }],
    ["run_id", { ...BODY, run_id: "x".repeat(129) }],
    ["warehouse_id or scope", { ...BODY, scope: undefined }],
    ["warehouse_id or scope", { ...BODY, scope: "" }],
    ["warehouse_id or scope", { ...BODY, scope: "a/b" }],
    ["warehouse_id or scope", { ...BODY, scope: ".." }],
    ["warehouse_id or scope", { ...BODY, scope: null, warehouse_id: "wh-17" }],
    ["warehouse_id or scope", { ...BODY, warehouse_id: "wh-18" }],
    ["expired_before", { ...BODY, expired_before: undefined }],
    ["expired_before", { ...BODY, expired_before: 1_769_817_600 }],
    ["expired_before", { ...BODY, expired_before: "2026-01-31" }],
    ["expired_before", { ...BODY, expired_before: "2026-01-31T00:00:00" }],
    ["expired_before", { ...BODY, expired_before: "2026-02-31T00:00:00Z" }],
  ])("is refused for %s: %j", (field, body) => {
    const result = readCleanupRequest(body);
    expect(result).toMatchObject({ ok: false, field });
    expect(JSON.stringify(result)).not.toMatch(/a b|17|wh-18|a\/b/);
  });
});

describe("an instant", () => {
  it.each([
    ["2026-01-31T00:00:00Z", "2026-01-31T00:00:00.000Z"],
    ["2026-01-31t02:30:00+02:30", "2026-01-31T00:00:00.000Z"],
    ["2026-01-30T19:00:00.123999-05:00", "2026-01-31T00:00:00.123Z"],
  ])("%s is %s, never a later one", (text, instant) => {
    expect(new Date(parseInstant(text) ?? 0).toISOString()).toBe(instant);
  });

  it.each(["9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "2026-01-31T24:30:00Z", "2026-13-01T00:00:00Z"])(
    "%s is none that can be written in UTC",
    (text) => expect(parseInstant(text)).toBeUndefined(),
  );
});
