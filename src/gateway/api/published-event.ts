import { type CleanupRequestResult, readCleanupRequest } from "../../api/cleanup-request.ts";
import type { NewEvent } from "../../custody/port.ts";
import { sha256Head, sha256Parts } from "../../lib/hash.ts";
import { CLEANUP_RUN_HEADER, markKey, PROVIDER_ID_HEADER } from "../../routes/delivery-id.ts";
import { chosenByValue, notChosenText } from "../chosen-destination.ts";
import { missingField } from "../payload.ts";
import type { PreparedRoute } from "../prepared-route.ts";
import { readEnvelope, type EnvelopeFault } from "./envelope.ts";
import type { Element } from "./envelope-list.ts";

/** What one event of a request is refused for. */
export interface ItemError {
  readonly code:
    | "EnvelopeInvalid"
    | "FieldMissing"
    | "RunRequestInvalid"
    | "EventTooLarge"
    | "IdReused"
    | "IdempotencyKeyReused"
    | "StoreFull"
    | "NotStored";
  /** What to do. Holds no value. */
  readonly message: string;
  /** Field of the event that is meant. */
  readonly field?: string;
}

/** An event that can be claimed. `idFrom`: what tells it from others, for the message when that was used before. */
export interface Publishable {
  readonly event: NewEvent;
  readonly idFrom: "id" | "key" | "none";
}

/** What holds for all events of a request. */
export interface Publication {
  readonly route: PreparedRoute;
  /** `Idempotency-Key`. */
  readonly key: string | undefined;
  /** First 16 bytes of SHA-256 over the length-prefixed elements. */
  readonly requestHash: Buffer;
  readonly nextId: () => string;
}

/** What a list of elements is known by, for {@link Publication.requestHash}. */
export function requestHash(elements: readonly Element[]): Buffer {
  return sha256Parts(elements.map(({ bytes }) => bytes)).subarray(0, 16);
}

/** Makes an event of custody of element `index` of a request. Its body is the envelope, byte for byte. */
export function publishedEvent(
  publication: Publication,
  { bytes, value }: Element,
  index: number,
): Publishable | ItemError {
  const { route, nextId } = publication;
  if (bytes.length > route.entry.limits.maxBodyBytes) {
    return {
      code: "EventTooLarge",
      message: `an event of this route has at most ${route.entry.limits.maxBodyBytes} bytes`,
    };
  }
  const envelope = readEnvelope(value);
  if ("message" in envelope) return invalid(envelope);
  const demanded = demandedOf(route, value);
  if ("code" in demanded) return demanded;
  const { id, type } = envelope;
  const { idFrom, ...identity } = identityOf(publication, { id, index, bytes });
  const event: NewEvent = {
    ...identity,
    id: nextId(),
    policy: route.policy,
    headers: {
      "content-type": "application/json",
      ...(id !== undefined && { [PROVIDER_ID_HEADER]: id }),
      ...(demanded.runId !== undefined && { [CLEANUP_RUN_HEADER]: demanded.runId }),
    },
    body: bytes,
    seq: route.entry.seq,
    eventType: type,
    destinations: route.copies(type, demanded.destination),
  };
  return { event, idFrom };
}

/** What the route demands of each event, and where it leads. */
interface Demanded {
  readonly destination: string | undefined;
  readonly runId: string | undefined;
}

function demandedOf(route: PreparedRoute, value: unknown): Demanded | ItemError {
  const field = missingField(route.payload, value);
  if (field !== undefined) return { code: "FieldMissing", message: `this route demands the field ${field}`, field };
  const destination = route.chosen && chosenByValue(route.chosen, value);
  if (route.chosen && destination === undefined) {
    return { code: "FieldMissing", message: notChosenText(route.chosen), field: route.chosen.text };
  }
  const run = route.cleanup && readCleanupRequest(value);
  return run?.ok === false ? notARun(run) : { destination, runId: run?.request.runId };
}

function invalid({ field, message }: EnvelopeFault): ItemError {
  return { code: "EnvelopeInvalid", message, ...(field !== "" && { field }) };
}

/** The fields of a run stand beside `type` and `data`: the event's own text is what the destination gets. */
function notARun({ field, message }: Extract<CleanupRequestResult, { ok: false }>): ItemError {
  return { code: "RunRequestInvalid", message: `this route starts cleanup runs: ${field} ${message}`, field };
}

/**
 * What an event is known by: its id, else the request's key and its place in it. An id is good for one body, a key for the events of one request: the mark of the
 * first, and a nonce of the second, refuse another.
 */
function identityOf(
  { route, key, requestHash: request }: Publication,
  { id, index, bytes }: { readonly id: string | undefined; readonly index: number; readonly bytes: Buffer },
): Pick<NewEvent, "mark" | "nonce"> & { readonly idFrom: Publishable["idFrom"] } {
  const { route: routeKey, windowMs } = route.policy;
  if (id !== undefined) {
    const markOf = markKey([routeKey, "publish", id]);
    return { idFrom: "id", mark: { key: markOf, weak: false, bodyHash: sha256Head(bytes, 8), oneBody: true } };
  }
  if (key === undefined) return { idFrom: "none", mark: undefined };
  const nonce = { key: markKey([routeKey, "publish-request", key]), bodyHash: request, windowMs };
  return { idFrom: "key", mark: { key: markKey([routeKey, "publish-key", key, String(index)]), weak: false }, nonce };
}
