import { expect, test } from "vitest";
import { countTests } from "./count.mjs";

const file = (statuses: string[], status = "passed") => ({
  name: "a.test.ts",
  status,
  assertionResults: statuses.map((each, at) => ({ fullName: `test ${at}`, status: each })),
});

test("passed tests are counted, nothing else is a pass", () => {
  expect(countTests({ testResults: [file(["passed", "passed"]), file(["passed"])] }, 0)).toEqual({
    passed: 3,
    problems: [],
  });
  const { passed, problems } = countTests({ testResults: [file(["passed", "failed"], "failed")] }, 1);
  expect([passed, problems]).toEqual([1, ["test 1"]]);
});

test.each(["skipped", "pending", "todo", "disabled"])("a test that is %s fails the run", (status) => {
  const { passed, problems } = countTests({ testResults: [file(["passed", status])] }, 0);
  expect(passed).toBe(1);
  expect(problems).toHaveLength(1);
});

test("a file that could not be loaded, an error outside of tests, no tests and no report are problems", () => {
  expect(countTests({ testResults: [file([], "failed"), file(["passed"])] }, 1).problems).toEqual([
    "a.test.ts could not be run",
  ]);
  expect(countTests({ testResults: [file(["passed"])] }, 1).problems).toHaveLength(1);
  expect(countTests({ testResults: [] }, 0).problems).toEqual(["no test was found"]);
  expect(countTests(undefined, 1)).toMatchObject({ passed: 0, problems: [expect.stringContaining("did not run")] });
});
