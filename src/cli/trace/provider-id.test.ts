import { describe, expect, it } from "vitest";
import type { Ledger, Rejection } from "../../custody/port.ts";
import type { ProviderIdMatch } from "../../custody/provider-id.ts";
import { providerIdHash } from "../../routes/delivery-id.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { CustodyAccess } from "../custody-access.ts";
import { providerIdStory, traceProviderId } from "./provider-id.ts";

const AT = Date.UTC(2026, 0, 2, 3, 4, 5);
const ROUTE = { namespace: "shop", name: "stripe", route: "0011223344556677", host: "h", path: "/" };

/** As much of an entry as is looked at. */
const entry = (sources: RouteEntry["dedupe"]["sources"]) =>
  ({ route: ROUTE.route, dedupe: { sources, windowMs: 1_000, earlierWindows: [] } }) as unknown as RouteEntry;
const BY_HEADER = entry([{ from: "header", name: "x-id", signed: false }]);

function rejection(at: number, rest: Partial<Rejection> = {}): Rejection {
  const refused = {
    status: 401,
    reason: "SignatureMismatch",
    headerNames: [],
    bodyBytes: 2,
    bodySha256: "ab".repeat(32),
  };
  return { route: ROUTE.route, at, client: "192.0.2.1", idHash: providerIdHash("evt_1"), ...refused, ...rest };
}

/** Custody that knows this much of `evt_1`. */
function access({
  matches = [],
  rejections = [],
}: {
  matches?: ProviderIdMatch[];
  rejections?: Rejection[];
}): CustodyAccess {
  const ledger = { findByProviderId: async () => matches, rejections: async () => rejections } as unknown as Ledger;
  return {
    namespaces: ["shop"],
    routes: [ROUTE],
    ledger: () => ledger,
    routeName: () => "shop/stripe",
    destinationName: (destination: string) => destination,
  } as unknown as CustodyAccess;
}

async function story(custody: CustodyAccess, known: RouteEntry | undefined = BY_HEADER): Promise<string> {
  const entries = new Map(known === undefined ? [] : [[ROUTE.route, known]]);
  return providerIdStory(await traceProviderId(custody, "evt_1", { routes: [ROUTE], entries }), custody, AT).join("\n");
}

const EVENT = {
  id: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  route: ROUTE.route,
  receivedAt: AT,
  sequence: 1,
  duplicates: 2,
  bodyBytes: 2,
  copies: [],
};
const MATCH: ProviderIdMatch = { eventId: EVENT.id, receivedAt: AT, event: EVENT };

describe("the trace of a provider's id", () => {
  it("tells that it was accepted, with its duplicates", async () => {
    const text = await story(access({ matches: [MATCH] }));
    expect(text).toContain("event 01ARZ3NDEKTSV4RRFFQ69G5FAV, route shop/stripe\n2026-01-02 03:04:05.000Z  accepted");
    expect(text).toContain("duplicates: 2");
  });

  it("tells that only the mark of it is left", async () => {
    expect(await story(access({ matches: [{ ...MATCH, event: undefined }] }))).toContain(
      "its record is kept no longer",
    );
  });

  it("tells how often and why it was refused, before it was accepted", async () => {
    const rejections = [rejection(AT + 2), rejection(AT + 1), rejection(AT, { status: 400, reason: "HeaderMissing" })];
    const text = await story(access({ matches: [MATCH], rejections }));
    expect(text).toContain(
      "refused 3 times: 400 HeaderMissing (1), 401 SignatureMismatch (2)\n2026-01-02 03:04:05.000Z  refused with 400",
    );
    expect(await story(access({ rejections: rejections.slice(0, 1) }))).toMatch(
      /^2026\S+ \S+ {2}refused with 401 SignatureMismatch by shop\/stripe, from 192\.0\.2\.1/,
    );
  });

  it("passes over refusals of other ids and of requests without one", async () => {
    const { idHash: _, ...without } = rejection(AT);
    const others = [without, rejection(AT, { idHash: providerIdHash("evt_2") })];
    expect(await story(access({ rejections: others }))).toContain("evt_1 was never seen in shop");
  });

  it("says what it cannot know when it was never seen", async () => {
    expect(await story(access({}))).toContain("all but the last 100 refused requests");
    expect(await story(access({}), entry([]))).toContain("its provider sends no id");
    const several = [
      { from: "json", pointer: "/a", signed: true },
      { from: "json", pointer: "/b", signed: true },
    ] as const;
    expect(await story(access({}), entry(several))).toContain("an id has several parts there");
    const unknown = await traceProviderId(access({}), "evt_1", { routes: [ROUTE], entries: new Map() });
    expect(unknown.limits.join()).toContain("what its id is made of is not known here");
  });
});
