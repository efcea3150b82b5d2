import { afterAll, inject } from "vitest";
import { Cluster } from "./control-plane/access.ts";

/**
 * The control plane that the files of a run share. Call it at the top of a file under `test/cluster/`; each test works in a
 * namespace of its own (`cluster.namespace()`). Whoever wants to stop or pause a server starts a plane of their own.
 */
export function sharedCluster(): Cluster {
  const cluster = new Cluster(inject("cluster"));
  afterAll(() => cluster.close());
  return cluster;
}
