import { vi } from "vitest";
import { sharedCluster } from "../../support/cluster.ts";
import { goneTests } from "./gone-tests.ts";
import { leadershipTests } from "./leadership-tests.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

// Leases run out and versions are forgotten in their own time, so all wait at the same time.
const cluster = sharedCluster();

leadershipTests(cluster);
goneTests();
