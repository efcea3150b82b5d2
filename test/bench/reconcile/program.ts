import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "../../../tools/build.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** What the program finds beside its `dist`. */
const BESIDE = ["node_modules", "crds", "examples", "package.json"];

/** The program as it is shipped, in a folder of its own. */
export interface BuiltProgram {
  /** Its main file. */
  readonly main: string;
  remove(): void;
}

/** Builds it as for the package. Throws when the compiler reports an error. */
export function buildProgram(): BuiltProgram {
  const dir = mkdtempSync(join(tmpdir(), "davit-built-"));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  process.once("exit", remove);
  build(ROOT, join(dir, "dist"));
  for (const name of BESIDE) symlinkSync(join(ROOT, name), join(dir, name));
  return { main: join(dir, "dist/main.js"), remove };
}
