import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SignatureCase } from "../../src/verification/vectors.ts";

const PROGRAM = fileURLToPath(new URL("../verification/reference/verify.py", import.meta.url));

/** Python 3.9 or later, or what `PYTHON_BIN` names. */
export const PYTHON = process.env["PYTHON_BIN"] ?? "python3";

/**
 * Judges cases with the verifier in Python, in one process for all.
 *
 * @param python the program to run
 * @returns whether each is valid, in the order of the cases
 * @throws Error that says what to install when there is no Python, or with what the program printed when it failed
 */
export async function judgeWithReference(
  cases: readonly SignatureCase[],
  python = PYTHON,
): Promise<readonly boolean[]> {
  const input = cases.map((one) => `${JSON.stringify(one)}\n`).join("");
  const lines = (await runPython(["-B", PROGRAM], input, python)).trimEnd().split("\n");
  if (lines.length !== cases.length) throw new Error(`${cases.length} cases, but ${lines.length} answers of Python`);
  return lines.map((line, index) => {
    const { id, valid } = JSON.parse(line) as { id: string; valid: boolean };
    if (id !== cases[index]?.id) throw new Error(`Python answered ${id} instead of ${cases[index]?.id}`);
    return valid;
  });
}

/** Runs Python and resolves with what it printed. */
export function runPython(args: readonly string[], input = "", python = PYTHON): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(python, args, { stdio: ["pipe", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    child.once("error", (cause) => {
      const remedy = "install Python 3.9 or later (apt-get install python3), or name one in PYTHON_BIN";
      reject(new Error(`${python} cannot be started: ${remedy}`, { cause }));
    });
    child.once("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`Python ended with ${code}:\n${errors}`));
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}
