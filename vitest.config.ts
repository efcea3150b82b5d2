import { defineConfig } from "vitest/config";
import { missingForCluster } from "./test/support/control-plane/binaries.ts";

const TIMEOUTS = { testTimeout: 60_000, hookTimeout: 60_000 };

/** Tests on a real control plane; left out where none can be had, except in CI, where that is a failure. */
function clusterProjects() {
  const missing = process.env["CI"] === "true" ? undefined : missingForCluster();
  if (missing !== undefined) {
    process.stderr.write(`*** THE CLUSTER TESTS ARE LEFT OUT: ${missing}\n`);
    return [];
  }
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
          exclude: ["test/cluster/**"],
          environment: "node",
          ...TIMEOUTS,
          fileParallelism: false,
        },
      },
      ...clusterProjects(),
    ],
  },
});
