import { afterAll, beforeAll, describe } from "vitest";
import { CONFORMANCE_TYPES, unique, type FaultyServer } from "../../src/kube/conformance/fixtures.ts";
import { kubeConformance, kubeFaultConformance } from "../../src/kube/conformance/suite.ts";
import { startFakeApiServer, type FakeApiServer } from "../support/fake-api-server/server.ts";

// The fake API server passes the suite that the real one passes (test/cluster/kube.test.ts).
let fake: FakeApiServer;
let harmed: FaultyServer;
beforeAll(async () => {
  fake = await startFakeApiServer(CONFORMANCE_TYPES);
  const auth = fake.auth();
  harmed = {
    auth,
    stranger: fake.strangerAuth(),
    namespace: async () => fake.addNamespace(unique("test")),
    compact: async () => fake.compact(),
    freeze: () => fake.freeze(),
    thaw: () => fake.thaw(),
    cut: async () => fake.cut(),
  };
});
afterAll(() => fake.stop());

describe("the fake API server", () => {
  kubeConformance(() => harmed);
  kubeFaultConformance(() => harmed);
});
