import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { kubeconfigAuth } from "../../../src/kube/kubeconfig.ts";
import type { Cluster } from "../control-plane/access.ts";
import type { KubeObject } from "../control-plane/client.ts";

/** Every version of an object that there was, in order, from the one at the start. */
export interface Versions {
  readonly objects: readonly KubeObject[];
  /** Waits a moment for what is on its way, and ends. */
  stop(): Promise<void>;
}

const LAST_MS = 500;

/** Watches one object from now on. @param path of the object, which exists */
export function recordVersions(cluster: Cluster, path: string): Versions {
  const [, collection, name] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
  const objects: KubeObject[] = [];
  const ending = new AbortController();
  const running = watch(cluster, `${collection}?watch=true&fieldSelector=metadata.name%3D${name}`, {
    signal: ending.signal,
    onObject: (object) => objects.push(object),
  });
  return {
    objects,
    stop: async () => {
      await sleep(LAST_MS);
      ending.abort();
      await running;
    },
  };
}

interface WatchOptions {
  readonly signal: AbortSignal;
  readonly onObject: (object: KubeObject) => void;
}

async function watch(cluster: Cluster, path: string, { signal, onObject }: WatchOptions): Promise<void> {
  const auth = await kubeconfigAuth({ file: cluster.adminKubeconfig });
  const { headers, tls } = await auth.credentials();
  const agent = new Agent({ connect: { ...tls }, bodyTimeout: 0 });
  try {
    const { body } = await request(`${cluster.url}${path}`, { dispatcher: agent, headers, signal });
    let rest = "";
    for await (const chunk of body) {
      const lines = `${rest}${String(chunk)}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onObject((JSON.parse(line) as { object: KubeObject }).object);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await agent.destroy();
  }
}
