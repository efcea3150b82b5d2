import { sharedCluster } from "../../support/cluster.ts";
import { goneTests } from "./gone-tests.ts";
import { leadershipTests } from "./leadership-tests.ts";

// Leases run out and versions are forgotten in their own time, so all wait at the same time.
const cluster = sharedCluster();

leadershipTests(cluster);
goneTests();
