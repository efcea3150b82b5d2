import type { Replay } from "../../custody/operations.ts";
import { type Io, printJson } from "../command.ts";
import type { CustodyAccess } from "../custody-access.ts";
import { time } from "../event-story.ts";
import { table } from "../table.ts";

/** What may be done to a replay by its id; `undefined` only shows it. */
export const STEERING: ReadonlyMap<string, "paused" | "running" | "cancelled" | undefined> = new Map([
  ["status", undefined],
  ["pause", "paused"],
  ["resume", "running"],
  ["cancel", "cancelled"],
]);

/**
 * Pauses, resumes, cancels or shows a replay.
 * @returns the exit code: 1 when there is none, or it had ended otherwise
 */
export async function steer(
  access: CustodyAccess,
  { verb, id, format }: { readonly verb: string; readonly id: string; readonly format: "table" | "json" },
  io: Io,
): Promise<number> {
  const to = STEERING.get(verb);
  for (const namespace of access.namespaces) {
    const operations = access.operations(namespace);
    const replay = to === undefined ? await operations.replay(id) : await operations.steerReplay(id, to);
    if (replay === undefined) continue;
    print(io, format, [{ ...replay, namespace }]);
    return to === undefined || replay.state === to ? 0 : 1;
  }
  io.stderr.write(`there is no replay ${id}; davit replay list shows those of the last 7 days\n`);
  return 1;
}

/** Lists replays, the newest first. */
export async function list(access: CustodyAccess, format: "table" | "json", io: Io): Promise<number> {
  const all = await Promise.all(
    access.namespaces.map(async (namespace) => {
      const replays = await access.operations(namespace).replays();
      return replays.map((replay) => ({ ...replay, namespace }));
    }),
  );
  print(
    io,
    format,
    all.flat().toSorted((a, b) => b.createdAt - a.createdAt),
  );
  return 0;
}

function print(io: Io, format: "table" | "json", replays: readonly (Replay & { readonly namespace: string })[]): void {
  if (format === "json") return printJson(io, replays);
  const rows = replays.map(({ id, namespace, state, replayed, total, rate, createdAt }) => [
    id,
    namespace,
    state,
    `${replayed}/${total}`,
    String(rate),
    time(createdAt),
  ]);
  io.stdout.write(table(["REPLAY ID", "NAMESPACE", "STATE", "REPLAYED", "RATE", "CREATED"], rows));
}
