import type { IncomingMessage } from "node:http";
import type { ResourceAttributes } from "../../kube/access-review.ts";
import type { Access, Caller } from "../../kube/access.ts";
import { bearerToken } from "../../lib/bearer-token.ts";
import { API_REFUSALS, type ApiReason } from "./refusals.ts";
import { Refused } from "./refused.ts";

/** Ends a request for one of the listener's own reasons. */
export const refuse = (reason: ApiReason, detail?: string) =>
  new Refused(API_REFUSALS[reason], detail === undefined ? {} : { detail });

/**
 * Who it is comes first, then whether they may; only then is looked what there is: what exists is told to nobody else.
 *
 * @param known told of the caller before their rights are looked at
 * @throws Refused
 */
export async function authorise(
  access: Access,
  request: IncomingMessage,
  { right, denied }: { readonly right: ResourceAttributes; readonly denied: ApiReason },
  known: (caller: Caller) => void,
): Promise<void> {
  const token = bearerToken(request);
  if (token === undefined) throw refuse("TokenMissing");
  const caller = await told(access.caller(token));
  if (caller === undefined) throw refuse("TokenRefused");
  known(caller);
  if (!(await told(caller.may(right)))) throw refuse(denied);
}

/** Whoever cannot be told is not let in. */
async function told<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw refuse("AccessUnknown", error instanceof Error ? error.message : String(error));
  }
}
