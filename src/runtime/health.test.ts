import { expect, test } from "vitest";
import { readinessOf, type Watched } from "./health.ts";

const clock = { now: () => 0, monotonic: () => 1_000_000 };
const secrets: Watched = {
  type: { plural: "secrets" },
  namespace: "shop",
  hasSynced: true,
  lastContact: 999_000,
  idleMs: 150_000,
  refusal: undefined,
};

test("ready while everything is listed and was heard of", () => {
  expect(readinessOf([secrets], clock)).toEqual({ ok: true, problems: [] });
});

test.each([
  [{ hasSynced: false }, "secrets in namespace shop: not listed yet"],
  [{ refusal: "Forbidden" }, "secrets in namespace shop: the API server refuses to list them (Forbidden)"],
  [{ lastContact: 700_000 }, "secrets in namespace shop: nothing heard from the API server for 300 s"],
  [{ namespace: undefined, hasSynced: false }, "secrets in all namespaces: not listed yet"],
])("%o is not ready, and says why", (change, problem) => {
  expect(readinessOf([secrets, { ...secrets, ...change }], clock)).toEqual({ ok: false, problems: [problem] });
});

test("silence shorter than twice the idle timeout is nothing", () => {
  expect(readinessOf([{ ...secrets, lastContact: 700_001 }], clock).ok).toBe(true);
});
