import { defineConfig } from "vitest/config";
import { missingForCluster } from "./test/support/control-plane/binaries.ts";
import { missingForHelm } from "./tools/helm/helm.ts";

const TIMEOUTS = { testTimeout: 60_000, hookTimeout: 60_000 };

/** Whether tests can run that need something; if not, they are left out, except in CI, where that is a failure. */
function canRun(tests: string, missing: string | undefined): boolean {
  if (missing === undefined || process.env["CI"] === "true") return true;
  process.stderr.write(`*** THE ${tests} TESTS ARE LEFT OUT: ${missing}\n`);
  return false;
}

/** Tests on a real control plane, with the rights that Helm makes of the chart. */
function clusterProjects() {
  if (!canRun("CLUSTER", missingForCluster() ?? missingForHelm())) return [];
  return [
    {
      test: {
        name: "cluster",
        include: ["test/cluster/**/*.test.ts"],
        globalSetup: ["test/support/control-plane/global-setup.ts"],
        environment: "node",
        ...TIMEOUTS,
        fileParallelism: false,
      },
    },
  ];
}

// `unit` stands beside its source and needs no process; `integration` starts real servers; `cluster` shares a real control plane.
export default defineConfig({
  test: {
    passWithNoTests: false,
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "tools/**/*.test.ts"], environment: "node" } },
      {
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: ["test/cluster/**", ...(canRun("CHART", missingForHelm()) ? [] : ["test/chart/**"])],
          environment: "node",
          ...TIMEOUTS,
          fileParallelism: false,
        },
      },
      ...clusterProjects(),
    ],
  },
});
