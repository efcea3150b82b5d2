import type { Acted, CopyFilter } from "../operations.ts";
import type { LogWalker } from "./log-walker.ts";

/** Events of one script. */
const PAGE = 200;
/** Scripts of one call. */
export const SCRIPTS_OF_A_WALK = 25;
/** Letters of the copies that a cancel looks at: those that it ends, and active ones, which it counts. */
const CANCELLABLE = "WRLSA";

/** How far a walk over the logs of some routes has come. As a cursor: `<end of the range>:<route>:<position in its log>`. */
interface Progress {
  copies: number;
  active: number;
  scripts: number;
  to: number | undefined;
}

/**
 * One call of a cancel by filter, or of its preview.
 * @throws RangeError when the filter names neither a route nor a destination
 */
export async function walkCopies(
  walker: LogWalker,
  action: "count" | "cancel",
  filter: CopyFilter,
  cursor: string | undefined,
): Promise<Acted> {
  const { to, first, at } = readCursor(cursor);
  const progress: Progress = { copies: 0, active: 0, scripts: 0, to };
  const result = () => ({ copies: progress.copies, active: progress.active });
  for (const route of await routesOf(walker, filter)) {
    if (route < first) continue;
    const left = await walkRoute(walker, { action, filter, route, position: route === first ? at : "" }, progress);
    if (left !== undefined) return { ...result(), next: `${progress.to ?? 0}:${route}:${left}` };
  }
  return result();
}

function readCursor(cursor = ""): { readonly to: number | undefined; readonly first: string; readonly at: string } {
  const [top = "", first = "", at = ""] = cursor.split(":");
  return { to: top === "" ? undefined : Number(top), first, at };
}

interface RouteWalk {
  readonly action: "count" | "cancel";
  readonly filter: CopyFilter;
  readonly route: string;
  readonly position: string;
}

/** @returns where it stopped, `undefined` at the end of the route's log */
async function walkRoute(walker: LogWalker, walk: RouteWalk, progress: Progress): Promise<string | undefined> {
  const { action, filter, route } = walk;
  for (let { position } = walk; ; ) {
    if (progress.scripts === SCRIPTS_OF_A_WALK) return position;
    // Also the one that finds nothing: a namespace may have very many routes.
    progress.scripts += 1;
    const walked = await walker.walk(action, {
      route,
      filter,
      states: CANCELLABLE,
      to: progress.to,
      direction: "asc",
      position,
      budget: PAGE,
      limit: 1,
    });
    progress.copies += walked.copies;
    progress.active += walked.active;
    progress.to = walked.to;
    if (!walked.more) return undefined;
    ({ position } = walked);
  }
}

async function routesOf(walker: LogWalker, { route, destination }: CopyFilter): Promise<readonly string[]> {
  const owner = route ?? destination?.split("/")[0];
  if (owner === undefined) throw new RangeError("cancel: name a route or a destination");
  return owner.startsWith("~") ? walker.routes() : [owner];
}
