import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const REQUIREMENTS = join(import.meta.dirname, "requirements.txt");
/** Of every run: checks and hooks. */
export const CONFIG = join(import.meta.dirname, "schemathesis.toml");
/** What the hooks are: `DAVIT_HOOKS` of {@link CONFIG}. */
export const HOOKS = join(import.meta.dirname, "hooks.py");

/** `requires-python` of the pinned schemathesis. */
const OLDEST_PYTHON = [3, 10] as const;
const PYTHON = process.env["PYTHON_BIN"] ?? "python3";
const IS_ENOUGH = `import ensurepip, sys, venv; sys.exit(sys.version_info < (${OLDEST_PYTHON.join(", ")}))`;

/** Why there can be no schemathesis here; `undefined` if there can. */
export function missingForSchemathesis(python = PYTHON): string | undefined {
  const { status } = spawnSync(python, ["-c", IS_ENOUGH], { stdio: "ignore" });
  if (status === 0) return undefined;
  return `${python} with pip and venv, ${OLDEST_PYTHON.join(".")} or later, is needed (apt-get install python3-venv), or one named in PYTHON_BIN`;
}

/**
 * The pinned schemathesis in a virtual environment in the cache of this user, installed once.
 *
 * @param say one line when there is something to do
 * @returns path of the program
 * @throws Error with what is missing, or with the end of pip's output
 */
export function findSchemathesis(say: (line: string) => void): string {
  const problem = missingForSchemathesis();
  if (problem !== undefined) throw new Error(problem);
  const { stdout: version } = run(PYTHON, ["-c", "import sys; print(sys.version, sys.base_prefix)"]);
  const hash = createHash("sha256").update(readFileSync(REQUIREMENTS)).update(version).digest("hex").slice(0, 16);
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const folder = join(cache, "davit", "schemathesis", hash);
  // Programs of a virtual environment name its path, so it cannot be moved: the mark says that it is complete.
  const mark = join(folder, "complete");
  const program = join(folder, "bin", "schemathesis");
  if (existsSync(mark)) return program;
  say(`installing schemathesis once (PyPI packages, 60 MB) in ${folder}`);
  mkdirSync(dirname(folder), { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  run(PYTHON, ["-m", "venv", folder]);
  run(join(folder, "bin", "python"), ["-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS]);
  writeFileSync(`${mark}.new`, "");
  renameSync(`${mark}.new`, mark);
  return program;
}

function run(program: string, args: readonly string[]): { readonly stdout: string } {
  const { status, error, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", stdio: "pipe" });
  if (status === 0) return { stdout };
  const end = `${stdout ?? ""}\n${stderr ?? ""}`.trim().split("\n").slice(-10).join("\n");
  throw new Error(`${program} ${args.join(" ")} ended with ${status}: ${end}`, { cause: error });
}
