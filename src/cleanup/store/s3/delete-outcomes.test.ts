import { describe, expect, test } from "vitest";
import { deleteOutcomes, refusal } from "./delete-outcomes.ts";

const versions = [
  { key: "a", versionId: "1" },
  { key: "b", versionId: "1" },
  { key: "b", versionId: "2" },
];
const DELETED = { type: "deleted" };
const UNACCOUNTED = { type: "unaccounted" };

describe("every version of a batch is accounted for", () => {
  test("by its key and version, in the order asked for", () => {
    const Deleted = [
      { Key: "b", VersionId: "2" },
      { Key: "a", VersionId: "1" },
    ];
    expect(deleteOutcomes(versions, { Deleted })).toEqual([DELETED, UNACCOUNTED, DELETED]);
  });

  test("by its key alone only where the batch has the key once", () => {
    const Deleted = [{ Key: "a" }, { Key: "b" }];
    expect(deleteOutcomes(versions, { Deleted })).toEqual([DELETED, UNACCOUNTED, UNACCOUNTED]);
    const Errors = [{ Key: "a", Code: "AccessDenied", VersionId: "" }];
    expect(deleteOutcomes(versions, { Errors })[0]).toEqual({
      type: "refused",
      code: "AccessDenied",
      retryable: false,
    });
  });

  test("not by an answer of another version or key", () => {
    const Deleted = [{ Key: "a", VersionId: "2" }, { Key: "c", VersionId: "1" }, { VersionId: "1" }];
    expect(deleteOutcomes(versions, { Deleted })).toEqual([UNACCOUNTED, UNACCOUNTED, UNACCOUNTED]);
  });

  test("by nothing in an empty answer", () => {
    expect(deleteOutcomes(versions, {})).toEqual([UNACCOUNTED, UNACCOUNTED, UNACCOUNTED]);
  });

  test("as refused when it stands in both lists", () => {
    const answer = {
      Deleted: [{ Key: "a", VersionId: "1" }],
      Errors: [{ Key: "a", VersionId: "1", Code: "SlowDown" }],
    };
    expect(deleteOutcomes(versions, answer)[0]).toEqual({ type: "refused", code: "SlowDown", retryable: true });
  });

  test("not as deleted when a delete marker was made instead; one that is deleted itself is named by its own id", () => {
    const made = [{ Key: "a", DeleteMarker: true, DeleteMarkerVersionId: "new" }];
    expect(deleteOutcomes(versions, { Deleted: made })[0]).toEqual(UNACCOUNTED);
    const gone = [{ Key: "a", VersionId: "1", DeleteMarker: true, DeleteMarkerVersionId: "1" }];
    expect(deleteOutcomes(versions, { Deleted: gone })[0]).toEqual(DELETED);
  });
});

test.for([
  ["InternalError", true],
  ["SlowDown", true],
  ["ServiceUnavailable", true],
  ["OperationAborted", true],
  ["RequestTimeout", true],
  ["AccessDenied", false],
  ["InvalidArgument", false],
] as const)("a refusal as %s may be tried again: %s", ([code, retryable]) => {
  expect(refusal(code)).toEqual({ type: "refused", code, retryable });
});

test("a code that is no word is not passed on", () => {
  expect(refusal("key AKIA… is bad")).toMatchObject({ code: "Unknown" });
  expect(refusal(undefined)).toMatchObject({ code: "Unknown", retryable: false });
});
