import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { CLEANER_NODE_OPTIONS } from "../../../src/controllers/cleanup-policy/cleaner/cleaner-deployment.ts";

/** Most resident memory of a process that carries out one run over so many versions, with the options of a cleaner Pod, MiB. */
export async function peakMemory(versions: number): Promise<number> {
  const file = join(import.meta.dirname, "memory-child.ts");
  const args = [...CLEANER_NODE_OPTIONS.split(" "), file, String(versions)];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, NODE_ENV: "production" },
  });
  return Number(stdout);
}
