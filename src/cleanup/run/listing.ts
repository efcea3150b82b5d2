import { KeyGroups } from "../plan/key-groups.ts";
import type { KeyGroup } from "../plan/types.ts";
import type { ObjectStore, PageMarker, VersionPage } from "../store/port.ts";
import type { StoreLimiter } from "./limiter.ts";

/** Entries of a page: the most that S3 gives (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html). */
const PAGE_ENTRIES = 1_000;

export interface ListingOptions {
  readonly store: ObjectStore;
  readonly limiter: StoreLimiter;
  readonly signal: AbortSignal;
  readonly prefix: string;
  /** Keys up to this one are left out. */
  readonly after?: string | undefined;
}

/**
 * The groups of a prefix, those of a page together. A group comes out only when the page after its last entry is here: nothing that a page's marker names is deleted before the
 * page is read. One page is fetched ahead.
 */
export async function* keyGroups(options: ListingOptions): AsyncGenerator<readonly KeyGroup[]> {
  const { after } = options;
  const groups = new KeyGroups(after === undefined ? {} : { after });
  for await (const page of pages(options)) yield groups.push(page);
  yield groups.finish();
}

async function* pages({ store, limiter, signal, prefix, after }: ListingOptions): AsyncGenerator<VersionPage> {
  const fetch = (marker: PageMarker | undefined) => {
    const request = { prefix, maxEntries: PAGE_ENTRIES, ...(marker && { after: marker }) };
    const page = limiter.run(signal, () => store.listVersions(request, signal));
    // It is looked at when its turn comes, which may be after it failed.
    page.catch(() => undefined);
    return page;
  };
  let marker: PageMarker | undefined = after === undefined ? undefined : { key: after };
  let coming: Promise<VersionPage> | undefined = fetch(marker);
  while (coming !== undefined) {
    const page: VersionPage = await coming;
    marker = page.next;
    coming = marker && fetch(marker);
    yield page;
  }
}
