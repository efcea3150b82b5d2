import { CustodyError, type ClaimResult, type Inbox } from "../../custody/port.ts";
import { failure, resultOf, resultOfError, type ItemResult } from "./results.ts";
import type { ItemError, Publishable } from "./published-event.ts";

/** As many as the store takes in one script. A request's next ones wait for these, so that webhooks never wait behind a whole request. */
const AT_ONCE = 64;

/**
 * Claims events in their order and tells what became of each. After the first that the store did not confirm none is tried any more: the producer sends
 * the request again.
 *
 * @param timeoutMs for each {@link AT_ONCE} of them
 */
export async function claimAll(
  items: readonly (Publishable | ItemError)[],
  inbox: Pick<Inbox, "claim">,
  timeoutMs: number,
): Promise<readonly ItemResult[]> {
  const results: ItemResult[] = [];
  let outage: unknown;
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const lost = outage;
    const claims = items.slice(at, at + AT_ONCE).map(async (item): Promise<Claimed> => {
      if ("code" in item) return failure(item);
      return lost === undefined ? claimOne(item, inbox, timeoutMs) : { unconfirmed: lost };
    });
    // oxlint-disable-next-line no-await-in-loop -- one group after the other
    for (const result of await Promise.all(claims)) {
      const isLost = "unconfirmed" in result;
      if (isLost) outage = result.unconfirmed;
      results.push(isLost ? resultOfError(result.unconfirmed) : result);
    }
  }
  return results;
}

type Claimed = ItemResult | { readonly unconfirmed: unknown };

async function claimOne(item: Publishable, inbox: Pick<Inbox, "claim">, timeoutMs: number): Promise<Claimed> {
  try {
    return resultOf(await within(timeoutMs, inbox.claim(item.event)), item);
  } catch (unconfirmed) {
    return { unconfirmed };
  }
}

/** @throws CustodyError `Timeout` */
async function within(ms: number, claim: Promise<ClaimResult>): Promise<ClaimResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new CustodyError("Timeout", `the store did not answer in ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([claim, late]);
  } finally {
    clearTimeout(timer);
  }
}
