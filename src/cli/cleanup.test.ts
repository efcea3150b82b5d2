import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { command } from "./cleanup.ts";

const dir = mkdtempSync(join(tmpdir(), "davit-plan-"));
afterAll(() => rmSync(dir, { recursive: true }));

function manifest(name: string, ...policies: readonly object[]): string {
  const file = join(dir, name);
  writeFileSync(file, policies.map((policy) => stringify(policy)).join("---\n"));
  return file;
}

const policy = (name: string, spec: object = {}) => ({
  apiVersion: "davit.dev/v1alpha1",
  kind: "CleanupPolicy",
  metadata: { name },
  spec: { s3: { bucket: "a-bucket" }, prefixTemplate: "warehouses/{scope}/", ...spec },
});

const one = manifest("one.yaml", policy("labels"));
const two = manifest("two.yaml", policy("labels"), policy("images"));
const none = manifest("none.yaml");
const wrong = manifest("wrong.yaml", policy("labels", { prefixTemplate: "warehouses/" }));

test.each([
  ["no subcommand", [], "davit cleanup plan"],
  ["another one", ["run"], "davit cleanup plan"],
  ["no file", ["plan", "--scope", "a"], "-f FILE"],
  ["no scope", ["plan", "-f", one], "--scope"],
  ["a scope that is a path", ["plan", "-f", one, "--scope", "../a"], "--scope"],
  ["a limit that is no number", ["plan", "-f", one, "--scope", "a", "--limit", "many"], "--limit"],
  ["an unknown format", ["plan", "-f", one, "--scope", "a", "-o", "yaml"], "-o"],
  ["no cutoff", ["plan", "-f", one, "--scope", "a"], "--cutoff"],
  ["a cutoff without an offset", ["plan", "-f", one, "--scope", "a", "--cutoff", "2026-01-01T00:00:00"], "--cutoff"],
  ["several policies", ["plan", "-f", two, "--scope", "a"], "--policy"],
  [
    "a policy that is not there",
    ["plan", "-f", one, "--scope", "a", "--policy", "other"],
    "there is only default/labels",
  ],
  ["no policy", ["plan", "-f", none, "--scope", "a"], "no CleanupPolicy"],
  ["a policy that is refused", ["plan", "-f", wrong, "--scope", "a"], "spec.prefixTemplate"],
])("%s is told, before any store is asked", async (_, argv, message) => {
  const silent = { write: () => undefined };
  await expect(command.run(argv, { stdout: silent, stderr: silent })).rejects.toThrow(message);
});
