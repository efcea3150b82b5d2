// What .ci/run runs. Like tools/setup.mjs it needs no dependency and runs on the machine's own Node: `npm test` installs the rest.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { countTests } from "./ci/count.mjs";
import { npmCommand } from "./setup/packages.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const TEN_MINUTES_MS = 600_000;

/** @type {[name: string, npmArguments: string[]][]} each counts as one test */
const CHECKS = [
  ["lint", ["run", "-s", "lint"]],
  ["types", ["run", "-s", "typecheck"]],
  ["format", ["run", "-s", "format:check"]],
  ["generated files are fresh", ["run", "-s", "generate:check"]],
  ["the demonstration runs to its end (npm start -- --once)", ["start", "--", "--once"]],
];

/**
 * @param {string[]} npmArguments
 * @param {number} [timeout] ms
 */
function npm(npmArguments, timeout) {
  const [command, leading] = npmCommand();
  const { status, signal, error } = spawnSync(command, [...leading, ...npmArguments], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    timeout,
  });
  if (error !== undefined || signal !== null) console.log(`npm ${npmArguments.join(" ")}: ${error?.message ?? signal}`);
  return status ?? 1;
}

function runTests() {
  const folder = mkdtempSync(join(tmpdir(), "davit-ci-"));
  const file = join(folder, "tests.json");
  const exitCode = npm(["test", "--", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`]);
  let report;
  try {
    report = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    report = undefined;
  }
  rmSync(folder, { recursive: true, force: true });
  return countTests(report, exitCode);
}

const { passed, problems } = runTests();
let good = passed;
let bad = problems.length;
for (const problem of problems) console.log(`FAIL  ${problem}`);
for (const [name, npmArguments] of CHECKS) {
  const isGood = npm(npmArguments, TEN_MINUTES_MS) === 0;
  console.log(`${isGood ? "ok  " : "FAIL"}  ${name}`);
  if (isGood) good++;
  else bad++;
}
console.log(`${good} passed, ${bad} failed`);
process.exitCode = bad === 0 ? 0 : 1;
