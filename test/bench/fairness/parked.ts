import { setTimeout as sleep } from "node:timers/promises";
import type { GateState } from "../../../src/custody/gate.ts";
import type { Child } from "../child.ts";
import { meterCommands } from "./meters.ts";
import { SLOW } from "./others.ts";
import { idsOf, scopeOf } from "./plan.ts";
import type { Stage } from "./stage.ts";

const WORKERS = 2;
/** What was under way has ended, and its tickets with it: ms. */
const QUIET_MS = 4_000;
const HOLD_MS = 300_000;
const PATIENCE_MS = 20_000;

/** Redis commands a second while everything waits. */
export interface ParkedResult {
  readonly held: number;
  readonly disabled: number;
}

/** Commands a second of two workers that have nothing to do, while the events of the slow destination wait for it. */
export async function benchParked(stage: Stage, namespace: string, seconds: number): Promise<ParkedResult> {
  const [id = ""] = idsOf(SLOW);
  const gates = stage.store.ledger(scopeOf(namespace));
  const client = stage.redis.client();
  const workers: Child<unknown>[] = [];
  const meterAs = async (state: GateState) => {
    for (const end = performance.now() + PATIENCE_MS; (await gates.gate(id)).state !== state; await sleep(100)) {
      if (performance.now() > end) throw new Error(`the slow destination did not become ${state}`);
    }
    await sleep(QUIET_MS);
    return meterCommands(client, seconds * 1_000);
  };
  try {
    for (let n = 0; n < WORKERS; n++) workers.push(await stage.worker(namespace, [SLOW]));
    for (const worker of workers) await worker.ask("start");
    await gates.hold(id, Date.now() + HOLD_MS);
    const held = await meterAs("Held");
    await stage.slowIsGone();
    await gates.enable(id);
    const disabled = await meterAs("Disabled");
    return { held, disabled };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    client.disconnect();
  }
}
