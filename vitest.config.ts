import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { COMPILE_CACHE } from "./test/support/compile-cache.ts";
import { missingForCluster } from "./test/support/control-plane/binaries.ts";
import { LongestFirst } from "./test/support/longest-first.ts";
import { missingForHelm } from "./tools/helm/helm.ts";
import { missingForSchemathesis } from "./tools/schemathesis/schemathesis.ts";
import { missingForCeph } from "./tools/setup/ceph.mjs";

const SURROUNDINGS = { environment: "node" as const, env: { NODE_COMPILE_CACHE: COMPILE_CACHE } };
const WITH_PROCESSES = {
  ...SURROUNDINGS,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // The default, 1 s, is nothing to a machine that is busy with other files.
  expect: { poll: { timeout: 20_000 } },
};

const CORES = availableParallelism();
/** Files at a time in `integration`, each of which uses about half a core: it waits for its processes, leases and timeouts. */
const WAITING = CORES + 1;

/**
 * Files of `integration` that stall with a busy machine, and why: they run after the others, no more at a time than there are cores.
 * Whoever adds one says why no longer time, manual clock or order of events would do.
 */
const TIMED: Readonly<Record<string, string>> = {
  "test/integration/custody-redis.test.ts": "windows and due times of Redis' own clock, tenths of a second long",
  "test/integration/custody-redis-faults.test.ts": "answers within half a second of a deadline",
  "test/integration/serving.test.ts": "writes in a second of real time are counted",
};

/** Whether tests can run that need something; if not, they are left out, except in CI, where that is a failure. */
function canRun(tests: string, missing: string | undefined): boolean {
  if (missing === undefined || process.env["CI"] === "true") return true;
  process.stderr.write(`*** THE ${tests} TESTS ARE LEFT OUT: ${missing}\n`);
  return false;
}

/** Files of `cluster` that run alone, on planes of their own, as the shared one belongs to one project; and why. */
const ALONE: Readonly<Record<string, string>> = {
  "test/cluster/operator/outages.test.ts":
    "500 requests a second for longer than a minute leave no processor time to others",
  "test/cluster/reconcile-bench.test.ts": "measures the controller, and etcd's size",
};

/** Tests on a real control plane, with the rights that Helm makes of the chart. */
function clusterProjects() {
  if (!canRun("CLUSTER", missingForCluster() ?? missingForHelm())) return [];
  // A test waits for several things, each for two minutes at most: a release has a dozen processes that take seconds of processor time to start.
  const patience = { testTimeout: 300_000, hookTimeout: 300_000 };
  return [
    {
      test: {
        name: "cluster",
        include: ["test/cluster/**/*.test.ts"],
        exclude: Object.keys(ALONE),
        globalSetup: ["test/support/control-plane/global-setup.ts"],
        ...WITH_PROCESSES,
        ...patience,
        maxWorkers: CORES,
        sequence: { groupOrder: 4 },
      },
    },
    {
      test: {
        name: "cluster-alone",
        include: Object.keys(ALONE),
        ...WITH_PROCESSES,
        ...patience,
        maxWorkers: 1,
        sequence: { groupOrder: 5 },
      },
    },
  ];
}

/** Tests on a real S3 store, Ceph's, that the files share; each has buckets of its own. */
function objectStoreProjects() {
  if (!canRun("OBJECT STORE", missingForCeph())) return [];
  return [
    {
      test: {
        name: "object-store",
        include: ["test/object-store/**/*.test.ts"],
        globalSetup: ["test/support/object-store/global-setup.ts"],
        ...WITH_PROCESSES,
        maxWorkers: WAITING,
        sequence: { groupOrder: 2 },
      },
    },
  ];
}

/** The APIs as their descriptions have them, by a tester that is installed from requirements pinned in tools/schemathesis. */
function apiProjects() {
  if (!canRun("API", missingForSchemathesis())) return [];
  return [
    {
      test: {
        name: "api",
        include: ["test/api/**/*.test.ts"],
        ...WITH_PROCESSES,
        fileParallelism: false,
        sequence: { groupOrder: 5 },
      },
    },
  ];
}

// `unit` stands beside its source and needs no process; `integration` starts real servers, each file its own, on ports of its own
// (test/support/held-port.ts); files of `cluster` share a real control plane, in which each has namespaces, releases and instances of its own.
export default defineConfig({
  test: {
    passWithNoTests: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "tools/**/*.test.ts"],
          ...SURROUNDINGS,
          maxWorkers: CORES,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: [
            "test/cluster/**",
            "test/api/**",
            "test/object-store/**",
            ...(canRun("CHART", missingForHelm()) ? [] : ["test/chart/**"]),
            ...Object.keys(TIMED),
          ],
          ...WITH_PROCESSES,
          maxWorkers: WAITING,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "integration-timed",
          include: Object.keys(TIMED),
          ...WITH_PROCESSES,
          maxWorkers: CORES,
          sequence: { groupOrder: 3 },
        },
      },
      ...objectStoreProjects(),
      ...clusterProjects(),
      ...apiProjects(),
    ],
  },
});
