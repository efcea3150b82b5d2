import { randomUUID } from "node:crypto";
import { Registry } from "prom-client";
import { KubeClient } from "../../src/kube/client.ts";
import { CONFIG_MAPS } from "../../src/kube/core-types.ts";
import { isConflict } from "../../src/kube/errors.ts";
import { NotLeaderError } from "../../src/kube/fence.ts";
import { kubeconfigAuth } from "../../src/kube/kubeconfig.ts";
import { LeaderElector } from "../../src/kube/leader-elector.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { createKubernetesMetrics } from "../../src/observability/kubernetes-metrics.ts";

// A candidate for leadership that, while it leads, writes its name and a counter into two ConfigMaps as fast as it can: `state` with the version it read as
// precondition, `child` by forced apply with the uid and version it saw. It never reads again what it wrote: whatever stands there is its own, or a conflict.
const [kubeconfig = "", namespace = "", identity = ""] = process.argv.slice(2);
const transport = new KubeTransport({
  auth: await kubeconfigAuth({ file: kubeconfig }),
  metrics: createKubernetesMetrics(new Registry()),
});
const client = new KubeClient(transport);
const elector = new LeaderElector({
  client,
  namespace,
  name: "leader",
  identity: `${identity}_${randomUUID()}`,
  metrics: createKubernetesMetrics(new Registry()),
  leaseDurationMs: 3_000,
  renewDeadlineMs: 2_000,
  retryPeriodMs: 200,
});
const maps = client.fencedBy(elector).resource(CONFIG_MAPS);
const say = (line: string) => process.stdout.write(`${line}\n`);

async function writeForEver(signal: AbortSignal): Promise<void> {
  say("leading");
  let state = await maps.get({ namespace, name: "state" });
  let child = await maps.get({ namespace, name: "child" });
  for (let count = 0; !signal.aborted; count++) {
    const data = { by: identity, count: String(count) };
    // oxlint-disable-next-line no-await-in-loop -- one version leads to the next
    state = await maps.update({ ...state, data }, { signal });
    const { uid, resourceVersion } = child.metadata;
    const only = { fieldManager: "leader", force: true, uid, resourceVersion };
    // oxlint-disable-next-line no-await-in-loop -- as above
    child = await maps.apply({ metadata: { namespace, name: "child" }, data }, { ...only, signal });
  }
}

try {
  await elector.run(AbortSignal.timeout(60_000), (signal) =>
    writeForEver(signal).catch((error: unknown) => {
      if (!(error instanceof NotLeaderError) && !isConflict(error)) say(`failed ${String(error)}`);
    }),
  );
  say("ended");
} catch (error) {
  say(error instanceof Error && "code" in error ? String(error.code) : "failed");
}
await transport.close();
