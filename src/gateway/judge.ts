import type { SignedRequest, Verdict } from "../verification/types.ts";
import { usableAt } from "./handshake.ts";
import type { MaterialSource } from "./material/material-source.ts";
import type { PreparedRoute } from "./prepared-route.ts";

/**
 * The verdict on a request. Only one that needs public material at its provider takes a turn of the event loop, or a fetch.
 *
 * @param now Unix ms of its receipt, by which its times are judged however long a fetch takes
 */
export function judge(
  route: PreparedRoute,
  request: SignedRequest,
  now: number,
  material: MaterialSource,
): Verdict | Promise<Verdict> {
  const { verifier, keys } = route;
  if (verifier.needs === undefined) return verifier.verify(request, keys, now);
  const needed = verifier.needs(request);
  return "ok" in needed ? needed : judgeWith(route, request, now, material.obtain(needed, fetchedFor(route, now)));
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

function fetchedFor({ entry, credentials }: PreparedRoute, now: number) {
  return { route: entry.route, credentials: usableAt(credentials, now) };
}
