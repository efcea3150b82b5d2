import type { Backlog } from "../../custody/backlog.ts";

/** What workers could do now, for an autoscaler. More of them could do nothing about what waits for a destination that is held, open or disabled. */
export function workOf(backlogs: Iterable<Backlog>): number {
  let [ready, later] = [0, 0];
  for (const { waiting, active, delayed, gate = "Closed" } of backlogs) {
    const isShut = gate === "Held" || gate === "Open" || gate === "Disabled";
    ready += active + (isShut ? 0 : waiting);
    if (gate !== "Disabled") later += delayed + (isShut ? waiting : 0);
  }
  // Never 0 while something waits for its time: workers that are scaled to nothing would not come back for it.
  return Math.max(ready, later > 0 ? 1 : 0);
}
