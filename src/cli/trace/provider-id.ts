import type { Rejection } from "../../custody/port.ts";
import type { ProviderIdMatch, ProviderIdQuery } from "../../custody/provider-id.ts";
import { PROVIDER_ID_HEADER, providerIdHash, providerIdQuery } from "../../routes/delivery-id.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { CustodyAccess } from "../custody-access.ts";
import type { DevRoute } from "../dev/state.ts";
import { eventStory, rejectionLine, time } from "../event-story.ts";

/** What is known of an id at a provider, over some routes. */
export interface ProviderIdTrace {
  readonly id: string;
  /** Newest first. */
  readonly matches: readonly (ProviderIdMatch & { readonly route: string })[];
  /** Oldest first. */
  readonly rejections: readonly Rejection[];
  /** What the answer cannot know, one line each. */
  readonly limits: readonly string[];
}

const SHOWN_REJECTIONS = 20;

/**
 * Looks for an id at a provider in some routes.
 * @param entries of the routes, by route key, where they are at hand: without one, only headers that were kept are looked at
 */
export async function traceProviderId(
  access: CustodyAccess,
  id: string,
  { routes, entries }: { readonly routes: readonly DevRoute[]; readonly entries: ReadonlyMap<string, RouteEntry> },
): Promise<ProviderIdTrace> {
  const hash = providerIdHash(id);
  const found = await Promise.all(
    routes.map(async ({ namespace, route }) => {
      const ledger = access.ledger(namespace);
      const entry = entries.get(route);
      const [matches, rejections] = await Promise.all([
        ledger.findByProviderId(entry === undefined ? headersOnly(route, id) : providerIdQuery(entry, id)),
        ledger.rejections(route),
      ]);
      return {
        matches: matches.map((match) => ({ ...match, route })),
        rejections: rejections.filter(({ idHash }) => idHash === hash),
        limit: limitOf(access.routeName(route), entry),
      };
    }),
  );
  return {
    id,
    matches: found.flatMap(({ matches }) => matches).toSorted((a, b) => b.receivedAt - a.receivedAt),
    rejections: found.flatMap(({ rejections }) => rejections).toSorted((a, b) => a.at - b.at),
    limits: found.flatMap(({ limit }) => limit ?? []),
  };
}

function headersOnly(route: string, id: string): ProviderIdQuery {
  return { route, id, marks: [], windows: [], headers: [PROVIDER_ID_HEADER] };
}

function limitOf(name: string, entry: RouteEntry | undefined): string | undefined {
  if (entry === undefined) {
    return `${name}: what its id is made of is not known here, so that only its newest 1,000 events were looked at`;
  }
  const { sources } = entry.dedupe;
  if (sources.length === 0) return `${name}: its provider sends no id, so that none of its events can be found by one`;
  return sources.filter(({ optional }) => optional !== true).length > 1
    ? `${name}: an id has several parts there, so that only its newest 1,000 events were looked at`
    : undefined;
}

/** The trace as lines for people. */
export function providerIdStory(trace: ProviderIdTrace, access: CustodyAccess, now: number): string[] {
  const { id, matches, rejections, limits } = trace;
  const refused = rejections.slice(-SHOWN_REJECTIONS).map((rejection) => rejectionLine(rejection, access));
  const blocks = matches.map((match) => matchLines(match, access, now));
  const lines = [...blocks, refusedLines(rejections, refused)].filter((block) => block.length > 0);
  if (lines.length > 0) return lines.flatMap((block, index) => (index === 0 ? block : ["", ...block]));
  return [
    `${id} was never seen in ${access.namespaces.join(", ")}, or is kept no longer`,
    "  not known are: events whose record and dedupe window are both over, all but the last 100 refused requests of a route,",
    "  and refused requests whose id could not be read",
    ...limits.map((limit) => `  ${limit}`),
  ];
}

function matchLines(
  { event, eventId, receivedAt, route }: ProviderIdTrace["matches"][number],
  access: CustodyAccess,
  now: number,
) {
  if (event !== undefined) return eventStory(event, access, now);
  return [
    `event ${eventId}, route ${access.routeName(route)}`,
    `${time(receivedAt)}  accepted; its record is kept no longer, only that it was there`,
  ];
}

function refusedLines(rejections: readonly Rejection[], lines: readonly string[]): readonly string[] {
  if (rejections.length <= 1) return lines;
  const counts = new Map<string, number>();
  for (const { status, reason } of rejections) {
    counts.set(`${status} ${reason}`, (counts.get(`${status} ${reason}`) ?? 0) + 1);
  }
  const reasons = [...counts].map(([reason, count]) => `${reason} (${count})`).join(", ");
  return [`refused ${rejections.length} times: ${reasons}`, ...lines];
}
