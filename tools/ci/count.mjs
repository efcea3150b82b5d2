/**
 * What the JSON reporter of vitest writes, as far as it is read here.
 * @typedef {object} TestReport
 * @property {{ name: string, status: string, message?: string, assertionResults: { fullName: string, status: string }[] }[]} testResults
 */

/**
 * Counts a test run. Everything that is not a passed test is a problem: failed, skipped and todo tests, files that could not be
 * loaded, a run that ended with an error although no test failed, and a missing report.
 * @param {TestReport | undefined} report
 * @param {number} exitCode of the test command
 * @returns {{ passed: number, problems: string[] }} a line a problem
 */
export function countTests(report, exitCode) {
  if (report === undefined) return { passed: 0, problems: [`the tests did not run (exit code ${exitCode})`] };
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const problems = tests
    .filter(({ status }) => status !== "passed")
    .map(({ status, fullName }) =>
      status === "failed" ? fullName : `${fullName} (${status}: no test may be left out)`,
    );
  for (const { name, status, assertionResults } of report.testResults) {
    const isExplained = assertionResults.some((test) => test.status === "failed");
    if (status === "failed" && !isExplained) problems.push(`${name} could not be run`);
  }
  if (tests.length === 0) problems.push("no test was found");
  if (exitCode !== 0 && problems.length === 0) problems.push(`the test run ended with exit code ${exitCode}`);
  return { passed: tests.filter(({ status }) => status === "passed").length, problems };
}
