import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONFIG, HOOKS } from "../../../tools/schemathesis/schemathesis.ts";
import type { Known } from "./chain.ts";
import type { ApiDocument } from "./documents.ts";

/** How a run is bounded. */
export interface Bounds {
  readonly seed: number;
  /** Generated cases of each operation. */
  readonly examples: number;
  /** Goes on for so long instead, seconds. */
  readonly seconds?: number | undefined;
}

/** One run of schemathesis against one listener. */
export interface RunOptions extends Bounds {
  readonly program: string;
  readonly url: string;
  readonly document: ApiDocument;
  readonly tokens: readonly string[];
  readonly known: Known;
}

/** What became of it. */
export interface RunResult {
  /** 0: nothing found. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs all checks of all phases, and returns what was printed: each finding with a curl command that repeats it. */
export async function runSchemathesis(options: RunOptions): Promise<RunResult> {
  const { program, url, document, tokens, known, seconds } = options;
  const folder = mkdtempSync(join(tmpdir(), "davit-schemathesis-"));
  try {
    const [api, names] = [join(folder, "openapi.json"), join(folder, "known.json")];
    writeFileSync(api, JSON.stringify(document));
    writeFileSync(names, JSON.stringify({ tokens, ...known }), { mode: 0o600 });
    const bound = seconds === undefined ? [] : ["--max-time", String(seconds)];
    const surroundings = { DAVIT_HOOKS: HOOKS, DAVIT_KNOWN: names, PYTHONDONTWRITEBYTECODE: "1" };
    return await run(program, ["--config-file", CONFIG, "run", api, "--url", url, ...bound, ...always(options)], {
      cwd: folder,
      env: { ...process.env, ...surroundings },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const always = ({ seed, examples }: Bounds) => [
  "--checks=all",
  "--mode=all",
  `--seed=${seed}`,
  `--max-examples=${examples}`,
  "--continue-on-failure",
  "--request-timeout=20",
  "--generation-database=none",
  // Findings show the tokens of this run, so that they can be repeated.
  "--output-sanitize=false",
  // A machine that is busy with other tests is no finding.
  "--suppress-health-check=all",
  "--no-color",
];

function run(
  program: string,
  args: readonly string[],
  surroundings: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<RunResult> {
  const child = spawn(program, args, { ...surroundings, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
