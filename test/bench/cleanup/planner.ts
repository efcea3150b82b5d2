import { decideGroup } from "../../../src/cleanup/plan/decide-group.ts";
import { KeyGroups } from "../../../src/cleanup/plan/key-groups.ts";
import { planGroup } from "../../../src/cleanup/plan/plan-group.ts";
import type { FactRules, ListingRules, VersionFacts } from "../../../src/cleanup/plan/types.ts";
import type { VersionPage } from "../../../src/cleanup/store/port.ts";
import { VirtualStore } from "./virtual-store.ts";

const PREFIX = "warehouses/wh-1/";
const CUTOFF = 1_000_000;
const VERSIONS = 5;
const FREE: VersionFacts = { exists: true, legalHold: false, tags: [{ key: "class", value: "label" }] };
const LISTING: ListingRules = {
  prefix: PREFIX,
  cutoff: CUTOFF,
  protectedPrefixes: [`${PREFIX}config/`],
  isReferenced: () => false,
};
const FACTS: FactRules = { now: CUTOFF, objectLock: true, legalHold: true, tags: [{ key: "dispute" }] };

/** Versions a second that the planner takes from listed to decided, on one core, with the facts of every candidate at hand. */
export async function plannerRate(versions: number): Promise<number> {
  const pages = await listed(versions / VERSIONS);
  const facts = new Map(Array.from({ length: VERSIONS }, (_, version) => [String(version), FREE]));
  const started = process.hrtime.bigint();
  const planned = plan(pages, facts);
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  if (planned !== versions) throw new Error(`${planned} of ${versions} versions were planned`);
  return versions / seconds;
}

function plan(pages: readonly VersionPage[], facts: ReadonlyMap<string, VersionFacts>): number {
  const groups = new KeyGroups();
  let planned = 0;
  const take = (complete: ReturnType<KeyGroups["push"]>) => {
    for (const group of complete) planned += decideGroup(planGroup(group, LISTING), facts, FACTS).deletes.length;
  };
  for (const page of pages) take(groups.push(page));
  take(groups.finish());
  return planned;
}

async function listed(keys: number): Promise<VersionPage[]> {
  const store = new VirtualStore({ prefix: PREFIX, keys, versions: VERSIONS, lastModified: CUTOFF - 1 });
  const pages = [await store.listVersions({ prefix: PREFIX, maxEntries: 1_000 })];
  for (let next = pages[0]?.next; next !== undefined; next = pages.at(-1)?.next) {
    // oxlint-disable-next-line no-await-in-loop -- a page names the next one
    pages.push(await store.listVersions({ prefix: PREFIX, maxEntries: 1_000, after: next }));
  }
  return pages;
}
