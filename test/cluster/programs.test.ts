import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { findPrograms, missingForCluster } from "../support/control-plane/binaries.ts";
import { startControlPlane } from "../support/control-plane.ts";

const silent = () => {};
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "davit-assets-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe("the programs of the control plane", () => {
  test("are taken from KUBEBUILDER_ASSETS, which must hold all three", async () => {
    vi.stubEnv("KUBEBUILDER_ASSETS", folder);
    for (const name of ["etcd", "kube-apiserver"]) writeFileSync(join(folder, name), "");
    await expect(findPrograms(silent)).rejects.toThrow(`KUBEBUILDER_ASSETS=${folder} lacks kube-controller-manager`);
    writeFileSync(join(folder, "kube-controller-manager"), "");
    expect(await findPrograms(silent)).toBe(folder);
  });

  test("are missing where there is neither that, nor a cache, nor Go", () => {
    vi.stubEnv("KUBEBUILDER_ASSETS", folder);
    expect(missingForCluster()).toBeUndefined();
    vi.stubEnv("KUBEBUILDER_ASSETS", "");
    vi.stubEnv("XDG_CACHE_HOME", folder);
    vi.stubEnv("PATH", folder);
    expect(missingForCluster()).toContain("there is no go on PATH");
  });

  test("show their log when one does not start, and leave nothing behind", async () => {
    vi.stubEnv("TMPDIR", folder);
    const start = startControlPlane({ apiServerFlags: ["--no-such-flag"] });
    await expect(start).rejects.toThrow(/kube-apiserver ended; its log:[^]*unknown flag: --no-such-flag/);
    expect(readdirSync(folder)).toEqual([]);
  });
});
