import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./connection.ts";
import { parseInfo } from "./monitor.ts";

const END_TIMEOUT_MS = 10_000;

/**
 * Ends an embedded Redis whose owner was killed, so that a new one can take its data. Only a server that takes our password and says that it is
 * this very process is touched; anything else at that address or pid is somebody else's.
 *
 * @returns whether there was one
 * @throws Error when it does not end within 10 s
 */
export async function endLeftoverRedis(url: string, pid: number): Promise<boolean> {
  const client = connect(url, { enableOfflineQueue: true, retryStrategy: () => null });
  try {
    const info = parseInfo(await client.info("server"));
    if (info.get("process_id") !== String(pid)) return false;
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
  if (!signal(pid, "SIGTERM")) return true;
  for (const until = performance.now() + END_TIMEOUT_MS; performance.now() < until; ) {
    if (!signal(pid, 0)) return true;
    await sleep(50);
  }
  throw new Error(`the Redis left behind by an earlier run (pid ${pid}) does not end: end it by hand`);
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
