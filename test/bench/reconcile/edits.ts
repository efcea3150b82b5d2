import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import type { Cluster } from "../../support/control-plane/access.ts";
import { type BenchRoute, rotate, signedEvent } from "./tenants.ts";

/** Time between two tries, ms: short against the second that an edit may take, long enough not to be the load. */
const POLL_MS = 5;
const GIVE_UP_MS = 30_000;
/** Between two edits, ms: each is measured alone. */
const PAUSE_MS = 50;

/**
 * Gives Secrets new keys, one at a time, at routes by chance.
 * @returns ms from the API server's answer until the gateway takes an event that is signed with the new key, sorted
 */
export async function secretEdits(
  cluster: Cluster,
  gatewayUrl: string,
  routes: readonly BenchRoute[],
  edits: number,
): Promise<Float64Array> {
  const latencies = new Float64Array(edits);
  const dispatcher = new Agent({ connections: 1 });
  for (let edit = 0; edit < edits; edit++) {
    const route = routes[Math.floor(Math.random() * routes.length)];
    if (route === undefined) throw new RangeError("there are no routes");
    await rotate(cluster, route);
    latencies[edit] = await untilTaken(gatewayUrl, route, dispatcher);
    await sleep(PAUSE_MS);
  }
  await dispatcher.close();
  return latencies.toSorted();
}

async function untilTaken(gatewayUrl: string, route: BenchRoute, dispatcher: Agent): Promise<number> {
  const began = performance.now();
  for (; performance.now() - began < GIVE_UP_MS; await sleep(POLL_MS)) {
    const { statusCode, body } = await request(gatewayUrl + route.path, {
      method: "POST",
      dispatcher,
      ...signedEvent(route),
    });
    const text = await body.text();
    if (statusCode >= 200 && statusCode < 300) return performance.now() - began;
    if (statusCode !== 401) throw new Error(`${route.path} answered ${statusCode}: ${text}`);
  }
  throw new Error(`${route.path} did not take its new key within ${GIVE_UP_MS} ms`);
}
