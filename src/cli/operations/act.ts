import type { Acted, Count, Operations, Selection } from "../../custody/operations.ts";
import type { Io } from "../command.ts";
import type { CustodyAccess } from "../custody-access.ts";
import { countText, sumOf } from "./counts.ts";
import type { Place } from "./filters.ts";
import { namedCopies, whyNothing } from "./one-event.ts";

/** Something that is done to copies of one event, or to all that fit a filter. */
export interface Act<F> {
  /** `discarded`: what was done, for people. */
  readonly done: string;
  /** `dead`: what they must be. */
  readonly wanted: string;
  readonly act: (operations: Operations, selection: Selection<F>) => Promise<Acted>;
  /** How many there are; absent when it cannot be said. */
  readonly count?: (operations: Operations, filter: F) => Promise<Count>;
}

/** Acts on one event. @returns the exit code: 1 when nothing was done */
export async function actOnEvent<F>(
  act: Act<F>,
  access: CustodyAccess,
  { id, destination }: { readonly id: string; readonly destination: string | undefined },
  io: Io,
): Promise<number> {
  const found = await namedCopies(access, id, destination);
  let [copies, active] = [0, 0];
  for (const named of found?.destinations ?? []) {
    const acted = await act.act(access.operations(found?.namespace ?? ""), { eventId: id, destination: named });
    copies += acted.copies;
    active += acted.active;
  }
  const why = `nothing ${act.done}: ${whyNothing(found, destination, act.wanted)}`;
  io.stdout.write(`${id}: ${copies > 0 ? `${copies} ${act.done}` : why}\n`);
  tellActive(active, io);
  return copies > 0 ? 0 : 1;
}

/** Acts on all that fit, or says how many there are. */
export async function actOnAll<F>(
  act: Act<F>,
  access: CustodyAccess,
  { places, isAgreed }: { readonly places: readonly Place<F>[]; readonly isAgreed: boolean },
  io: Io,
): Promise<number> {
  if (!isAgreed) return preview(act, access, places, io);
  let [copies, active] = [0, 0];
  for (const { namespace, filter } of places) {
    let cursor: string | undefined;
    do {
      const acted: Acted = await act.act(access.operations(namespace), {
        filter,
        ...(cursor !== undefined && { cursor }),
      });
      copies += acted.copies;
      active += acted.active;
      cursor = acted.next;
    } while (cursor !== undefined);
  }
  io.stdout.write(`${copies} ${act.done}\n`);
  tellActive(active, io);
  return 0;
}

async function preview<F>(
  { count, done, wanted }: Act<F>,
  access: CustodyAccess,
  places: readonly Place<F>[],
  io: Io,
): Promise<number> {
  const counts: Count[] = [];
  if (count !== undefined)
    for (const { namespace, filter } of places) counts.push(await count(access.operations(namespace), filter));
  const what = count === undefined ? `all that are ${wanted} and fit` : countText(sumOf(counts));
  io.stdout.write(`would be ${done}: ${what}. Nothing was done: add --yes\n`);
  return 0;
}

function tellActive(active: number, io: Io): void {
  if (active > 0) io.stderr.write(`${active} left alone: a request is under way\n`);
}
