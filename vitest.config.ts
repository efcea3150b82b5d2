import { defineConfig } from "vitest/config";

// Two projects: `unit` stands beside its source and needs no process; `integration` starts real servers.
export default defineConfig({
  test: {
    passWithNoTests: false,
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "tools/**/*.test.ts"], environment: "node" } },
      {
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          environment: "node",
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
