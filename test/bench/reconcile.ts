import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../support/control-plane/access.ts";
import type { RoleProcess } from "../support/roles/role-process.ts";
import { ClusterParts } from "./reconcile/cluster-parts.ts";
import { secretEdits } from "./reconcile/edits.ts";
import { cpuSeconds, etcdMb, peakRssMib, writesOf } from "./reconcile/meters.ts";
import { Progress } from "./reconcile/progress.ts";
import { BenchRelease } from "./reconcile/release.ts";
import { type BenchRoute, createTenants } from "./reconcile/tenants.ts";
import { percentile } from "./statistics.ts";

/** Longest wait for a stage, ms: beyond every target, so that a miss is measured too. */
const PATIENCE_MS = 300_000;
/** etcd commits its backend every 100 ms, and shows its size after that. */
const ETCD_COMMIT_MS = 1_000;
/** Nothing but Leases is written for this long: the state is steady, ms. */
const QUIET_MS = 5_000;

/** How much of everything. */
export interface ReconcileSize {
  readonly namespaces: number;
  readonly routes: number;
  readonly edits: number;
  /** Time over which the steady state is watched, ms. */
  readonly steadyMs: number;
}

export interface ReconcileResult {
  readonly size: ReconcileSize;
  /** From the start of the controller's process until every route is `Programmed`, s. */
  readonly coldStartS: number;
  /** The same until every route is `Ready`, s. */
  readonly readyS: number;
  /** CPU seconds of the controller until then. */
  readonly controllerCpuS: number;
  /** Most resident memory of the controller over the whole run. */
  readonly controllerRssMib: number;
  /** The controller's writes to the API server until every route is Ready and nothing is left to do, a route. */
  readonly writesPerRoute: number;
  /** What that has added to etcd's database, MB, beyond the routes and Secrets themselves. */
  readonly etcdGrowthMb: number;
  readonly workerDeployments: number;
  /** Of controller and gateway, Leases included. */
  readonly steadyWritesPerS: number;
  readonly secretEditP50Ms: number;
  readonly secretEditP99Ms: number;
}

/**
 * Measures a controller and a gateway over many routes, from a cold start to single changes.
 *
 * @param main file of the built program; default: that of the sources, which starts slower and takes more memory
 */
export async function benchReconcile(cluster: Cluster, size: ReconcileSize, main?: string): Promise<ReconcileResult> {
  const release = await BenchRelease.create(cluster, main);
  const ends: (() => Promise<void>)[] = [() => release.stop()];
  try {
    const { instance, namespace } = release;
    const routes = await createTenants(cluster, { instance, namespaces: size.namespaces, routes: size.routes });
    const progress = await Progress.watch(cluster, instance, routes.length);
    ends.unshift(() => progress.stop());
    const gateway = await release.gateway();
    const tenants = new Set(routes.map((route) => route.namespace));
    const parts = new ClusterParts(cluster, tenants, namespace);
    ends.unshift(() => parts.stop());
    return await measure({ cluster, release, progress, gateway, routes, size });
  } catch (error) {
    throw new Error(
      `${error instanceof Error ? error.message : String(error)}; the roles wrote last:\n${release.logs()}`,
      { cause: error },
    );
  } finally {
    for (const end of ends) await end();
  }
}

interface Prepared {
  readonly cluster: Cluster;
  readonly release: BenchRelease;
  readonly progress: Progress;
  readonly gateway: RoleProcess;
  readonly routes: readonly BenchRoute[];
  readonly size: ReconcileSize;
}

async function measure({ cluster, release, progress, gateway, routes, size }: Prepared): Promise<ReconcileResult> {
  await sleep(ETCD_COMMIT_MS);
  const etcdBefore = await etcdMb(cluster);
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1_000;
  const controller = await release.controller();
  await progress.all("Programmed", PATIENCE_MS);
  const coldStartS = seconds();
  await progress.all("Ready", PATIENCE_MS);
  const readyS = seconds();
  const pid = controller.child.pid ?? 0;
  const controllerCpuS = cpuSeconds(pid);
  await quiet(controller);
  const writesPerRoute = (await writesOf(controller)) / routes.length;
  const etcdGrowthMb = (await etcdMb(cluster)) - etcdBefore;
  const workerDeployments = await deployments(cluster, routes);
  const steadyWritesPerS = await steady([controller, gateway], size.steadyMs);
  const latencies = await secretEdits(cluster, gateway.url, routes, size.edits);
  return {
    size,
    coldStartS,
    readyS,
    controllerCpuS,
    controllerRssMib: peakRssMib(pid),
    writesPerRoute,
    etcdGrowthMb,
    workerDeployments,
    steadyWritesPerS,
    secretEditP50Ms: percentile(latencies, 0.5),
    secretEditP99Ms: percentile(latencies, 0.99),
  };
}

/** Waits until the controller writes no more than its Lease, which it renews every 2 s. */
async function quiet(controller: RoleProcess): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
    const before = await writesOf(controller);
    await sleep(QUIET_MS);
    if ((await writesOf(controller)) - before <= Math.ceil(QUIET_MS / 2_000)) return;
  }
  throw new Error("the controller goes on writing");
}

async function steady(roles: readonly RoleProcess[], forMs: number): Promise<number> {
  const writes = async () => (await Promise.all(roles.map(writesOf))).reduce((sum, count) => sum + count, 0);
  const before = await writes();
  await sleep(forMs);
  return ((await writes()) - before) / (forMs / 1_000);
}

async function deployments(cluster: Cluster, routes: readonly BenchRoute[]): Promise<number> {
  const tenants = new Set(routes.map(({ namespace }) => namespace));
  const all = await cluster.admin.list("/apis/apps/v1/deployments");
  return all.filter(({ metadata }) => tenants.has(metadata.namespace ?? "")).length;
}
