import { afterAll, beforeAll } from "vitest";
import { sharedCluster } from "../../support/cluster.ts";
import { OperatorRelease } from "../../support/operator/operator-release.ts";
import { childrenTests } from "./children-tests.ts";
import { deletionTests } from "./deletion-tests.ts";
import { destinationTests } from "./destination-tests.ts";
import { observedTests } from "./observed-tests.ts";
import { rolloutTests } from "./rollout-tests.ts";
import { rotationTests } from "./rotation-tests.ts";
import { statusTests } from "./status-tests.ts";
import { stoppedTests } from "./stopped-tests.ts";
import { suitesTests } from "./suites-tests.ts";

// One release for all of these, since it takes seconds to start.
const cluster = sharedCluster();
const admission = { isOn: false };
let release: OperatorRelease;

beforeAll(async () => {
  release = await OperatorRelease.install(cluster, {
    admit: () => admission.isOn,
    values: { gateway: { replicas: 2 } },
  });
});
afterAll(() => release?.stop());

statusTests(() => release, admission);
observedTests(() => release);
rotationTests(() => release);
suitesTests(() => release);
destinationTests(() => release);
childrenTests(() => release);
deletionTests(() => release);
stoppedTests(() => release);
rolloutTests(() => release);
