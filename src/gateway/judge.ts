import type { SignedRequest, Verdict } from "../verification/types.ts";
import { usableAt } from "./handshake.ts";
import type { MaterialSource } from "./material/material-source.ts";
import type { PreparedRoute } from "./prepared-route.ts";

/**
 * The verdict on a request. Only one that needs public material at its provider takes a turn of the event loop, or a fetch.
 *
 * @param now Unix ms of its receipt, by which its times are judged however long a fetch takes
 * @param fetching `client`: address of the client, asked only when something must be fetched
 */
export function judge(
  route: PreparedRoute,
  request: SignedRequest,
  now: number,
  fetching: { readonly material: MaterialSource; readonly client: () => string },
): Verdict | Promise<Verdict> {
  const { verifier, keys, entry, credentials } = route;
  if (verifier.needs === undefined) return verifier.verify(request, keys, now);
  const needed = verifier.needs(request);
  if ("ok" in needed) return needed;
  const fetchedFor = {
    route: entry.route,
    client: fetching.client(),
    credentials: usableAt(credentials, now),
  };
  return judgeWith(route, request, now, fetching.material.obtain(needed, fetchedFor));
}

async function judgeWith(
  { verifier, keys }: PreparedRoute,
  request: SignedRequest,
  now: number,
  obtained: ReturnType<MaterialSource["obtain"]>,
): Promise<Verdict> {
  const material = await obtained;
  return "ok" in material ? material : verifier.verify(request, keys, now, material);
}
