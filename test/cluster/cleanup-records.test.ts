import { beforeAll, describe } from "vitest";
import { recordsConformance } from "../../src/cleanup/conformance/records.ts";
import { cleanerPlace } from "../../src/controllers/cleanup-policy/cleaner/cleaner-place.ts";
import { cleanerRbac } from "../../src/controllers/cleanup-policy/cleaner/cleaner-rbac.ts";
import type { KubeAuth } from "../../src/kube/auth.ts";
import { clientOf } from "../../src/kube/conformance/fixtures.ts";
import { kubeconfigAuth } from "../../src/kube/kubeconfig.ts";
import { pathOf } from "../support/chart.ts";
import { sharedCluster } from "../support/cluster.ts";
import type { KubeObject } from "../support/control-plane/client.ts";
import { KubePolicy, openKubeRecords } from "../support/kube-records.ts";
import { kubeRecordsConformance } from "../support/suites/kube-records-suite.ts";

// What the fake API server passes as well (test/integration/cleanup-records.test.ts), here with the rights of a cleaner and no others.
const cluster = sharedCluster();
let admin: KubeAuth;
beforeAll(async () => {
  admin = await kubeconfigAuth({ file: cluster.adminKubeconfig });
});

async function makePolicy(): Promise<{ readonly policy: KubePolicy; readonly auth: KubeAuth }> {
  const policy = await new KubePolicy(clientOf(admin), await cluster.namespace("records")).create();
  const place = cleanerPlace("default", policy);
  for (const object of cleanerRbac(place, undefined)) {
    const plain = JSON.parse(JSON.stringify(object)) as KubeObject;
    // oxlint-disable-next-line no-await-in-loop -- the binding needs the account
    await cluster.admin.apply(pathOf(plain), plain);
  }
  const file = await cluster.kubeconfigFor({ namespace: policy.namespace, serviceAccount: place.name });
  return { policy, auth: await kubeconfigAuth({ file }) };
}

describe("records on Kubernetes", () => {
  recordsConformance(async () => {
    const { policy, auth } = await makePolicy();
    return openKubeRecords(policy, auth);
  });
  kubeRecordsConformance(makePolicy);
});
