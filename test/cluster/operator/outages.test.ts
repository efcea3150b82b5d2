import { vi } from "vitest";
import { sharedCluster } from "../../support/cluster.ts";
import { outageTests } from "./outage-tests.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

// All of these wait for something to run out, so they run at the same time.
const cluster = sharedCluster();

outageTests(cluster);
