import type { NewEvent, Nonce } from "../custody/port.ts";
import { sha256Head } from "../lib/hash.ts";
import { CLEANUP_RUN_HEADER, MAX_KEPT_ID, markKey, PROVIDER_ID_HEADER } from "../routes/delivery-id.ts";
import type { Verdict } from "../verification/types.ts";
import { chosenByRequest } from "./chosen-destination.ts";
import type { Identity } from "./dedupe-mark.ts";
import type { Exchange } from "./exchange.ts";
import { KEPT_SIGNATURE, keptHeaders } from "./kept-headers.ts";
import { eventTypeOf } from "./payload.ts";

type Accepted = Extract<Verdict, { ok: true }>;

/** What a verified request becomes. */
export function newEvent(
  exchange: Exchange,
  verdict: Accepted,
  identity: Exclude<Identity, { type: "missing" }>,
  id: string,
): NewEvent {
  const { route, view } = exchange;
  const mark = identity.type === "mark" ? identity.mark : undefined;
  const eventType = eventTypeOf(route.payload, view);
  return {
    id,
    policy: mark?.weak ? route.weakPolicy : route.policy,
    mark,
    ...(hasNonce(verdict) && { nonce: nonceOf(verdict, route.policy, view.body) }),
    headers: headersOf(exchange, verdict, identity),
    body: view.body,
    seq: route.entry.seq,
    ...(eventType !== undefined && { eventType }),
    destinations: route.copies(eventType, route.chosen && chosenByRequest(route.chosen, view)),
  };
}

function headersOf(
  { request, route, view, runId }: Exchange,
  { signature }: Accepted,
  identity: Exclude<Identity, { type: "missing" }>,
): Record<string, string> {
  const headers = keptHeaders(route.headers, request.headers, view.path);
  if (route.keepsSignature && signature !== undefined) headers[KEPT_SIGNATURE] = signature;
  if (route.keepsProviderId && identity.type === "mark" && isPlain(identity.id)) {
    headers[PROVIDER_ID_HEADER] = identity.id.slice(0, MAX_KEPT_ID);
  }
  if (runId !== undefined) headers[CLEANUP_RUN_HEADER] = runId;
  return headers;
}

/** Whether it can stand in a header: whoever names that header in `forwardHeaders` sends it on. */
function isPlain(id: string | undefined): id is string {
  return id !== undefined && /^[\x21-\x7e][\x20-\x7e]*$/.test(id);
}

function hasNonce(verdict: Accepted): verdict is Accepted & { readonly nonce: string } {
  return verdict.nonce !== undefined;
}

/** Where a scheme does not say for how long a nonce is good, it is remembered as long as ids are by default, whatever window the route has. */
const NONCE_MS = 72 * 3_600_000;

/** Kept as long as its request would verify again, and as an id is: a short dedupe window must not let a signature be used for another body. */
function nonceOf(
  { nonce, nonceGoodForMs = NONCE_MS }: Accepted & { readonly nonce: string },
  policy: NewEvent["policy"],
  body: Buffer,
): Nonce {
  const { route, windowMs, earlierWindows } = policy;
  const longest = Math.max(nonceGoodForMs, windowMs, ...earlierWindows.map((earlier) => earlier.windowMs));
  return { key: markKey([route, "nonce", nonce]), bodyHash: sha256Head(body, 16), windowMs: Math.ceil(longest) };
}
