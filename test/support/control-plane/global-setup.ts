import type { TestProject } from "vitest/node";
import { type ControlPlane, startControlPlane } from "../control-plane.ts";
import type { ClusterLocation } from "./access.ts";

declare module "vitest" {
  export interface ProvidedContext {
    cluster: ClusterLocation;
  }
}

let plane: ControlPlane | undefined;

/** Starts the one control plane that the files of a run share, with every CRD there is. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  plane = await startControlPlane({ crds: "all" });
  project.provide("cluster", { url: plane.url, dir: plane.dir, etcdUrl: plane.etcdUrl });
  return async () => {
    const { state } = project.vitest;
    const hasFailed = state
      .getFiles()
      .some((file) => file.projectName === project.name && file.result?.state === "fail");
    if (hasFailed) process.stderr.write(`a cluster test failed; the last the control plane said:\n${plane?.logs()}\n`);
    await plane?.stop();
  };
}
