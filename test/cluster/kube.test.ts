import { beforeAll, describe } from "vitest";
import { unique, type ConformanceServer } from "../../src/kube/conformance/fixtures.ts";
import { kubeConformance } from "../../src/kube/conformance/suite.ts";
import { kubeconfigAuth } from "../../src/kube/kubeconfig.ts";
import { sharedCluster } from "../support/cluster.ts";

const cluster = sharedCluster();
let server: ConformanceServer;
beforeAll(async () => {
  const stranger = await cluster.kubeconfigFor({ user: unique("stranger"), groups: [] });
  server = {
    auth: await kubeconfigAuth({ file: cluster.adminKubeconfig }),
    stranger: await kubeconfigAuth({ file: stranger }),
    namespace: () => cluster.namespace("kube"),
  };
});

describe("Kubernetes", () => {
  kubeConformance(() => server);
});
