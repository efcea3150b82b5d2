import type { TestProject } from "vitest/node";
import { startCephGateway } from "./ceph.ts";
import type { ObjectStoreLocation } from "./location.ts";

declare module "vitest" {
  export interface ProvidedContext {
    objectStore: ObjectStoreLocation;
  }
}

/** Starts the one object store that the files of a run share: each has buckets of its own. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const ceph = await startCephGateway();
  const { endpoint, accessKeyId, secretAccessKey } = ceph;
  project.provide("objectStore", { endpoint, accessKeyId, secretAccessKey });
  return async () => {
    const hasFailed = project.vitest.state
      .getFiles()
      .some((file) => file.projectName === project.name && file.result?.state === "fail");
    if (hasFailed) process.stderr.write(`an object store test failed; the last the servers said:\n${ceph.logs()}\n`);
    await ceph.stop();
  };
}
