import type { TestContext } from "vitest";
import type { Cluster } from "../control-plane/access.ts";
import { ApiProxy } from "./api-proxy.ts";
import { OperatorRelease } from "./operator-release.ts";

/**
 * A release whose one controller reaches the API server through a proxy; both end with the test.
 * @param preload script to preload into the controller
 */
export async function proxiedRelease(
  cluster: Cluster,
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  preload?: string,
): Promise<{ readonly release: OperatorRelease; readonly proxy: ApiProxy }> {
  const proxy = await new ApiProxy(cluster).start();
  onTestFinished(() => proxy.stop());
  const release = await OperatorRelease.install(cluster, {
    serverFor: ({ container }) => (container.name === "controller" ? proxy.url : undefined),
    preloadFor: ({ container }) => (container.name === "controller" ? preload : undefined),
  });
  onTestFinished(() => release.stop());
  return { release, proxy };
}
