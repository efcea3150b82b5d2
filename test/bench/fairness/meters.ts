import type { Redis } from "ioredis";

/** A number of `INFO`. @throws when the section has no such field */
export function infoNumber(info: string, field: string): number {
  const value = new RegExp(`^${field}:(\\d+)`, "m").exec(info)?.[1];
  if (value === undefined) throw new Error(`Redis tells no ${field}`);
  return Number(value);
}

/**
 * Commands a second by the difference of `total_commands_processed`. That counts every command, also each one that a script calls, and those of BullMQ.
 * The reading itself is one command, which is left out.
 */
export function commandsPerSecond(before: number, after: number, seconds: number): number {
  return Math.max(0, after - before - 1) / seconds;
}

/** See {@link commandsPerSecond}; over `ms`. */
export async function meterCommands(client: Redis, ms: number): Promise<number> {
  const read = async () => infoNumber(await client.info("stats"), "total_commands_processed");
  const before = await read();
  const from = performance.now();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const after = await read();
  return commandsPerSecond(before, after, (performance.now() - from) / 1_000);
}

/** Bytes that Redis has allocated. */
export async function usedMemory(client: Redis): Promise<number> {
  return infoNumber(await client.info("memory"), "used_memory");
}
