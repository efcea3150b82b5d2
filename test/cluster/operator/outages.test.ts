import { vi } from "vitest";
import { sharedCluster } from "../../support/cluster.ts";
import { leadershipTests } from "./leadership-tests.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

// All of these wait for something to run out, so they run at the same time.
const cluster = sharedCluster();

leadershipTests(cluster);
