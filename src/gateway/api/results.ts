import { CustodyError, type ClaimResult } from "../../custody/port.ts";
import type { Outcome } from "../refusals.ts";
import { API_REFUSALS, type ApiRefusal } from "./refusals.ts";
import type { ItemError, Publishable } from "./published-event.ts";

/** What became of one event of a request. `id` is the event's in Davit, for a duplicate that of the first. `revived`: its dead copies are live again. */
export type ItemResult =
  | { readonly status: "accepted"; readonly id: string }
  | { readonly status: "duplicate"; readonly id: string; readonly revived?: true }
  | { readonly status: "error"; readonly error: ItemError };

/** The answer to a request whose events were looked at one by one: in the order of the request. */
export interface PublishAnswer {
  readonly accepted: number;
  readonly duplicates: number;
  readonly errors: number;
  readonly results: readonly ItemResult[];
  /** Only when the status is not 200. */
  readonly error?: string;
  readonly message?: string;
}

const REUSED: Readonly<Record<Publishable["idFrom"], ItemError>> = {
  id: {
    code: "IdReused",
    message: "this id came with another body before: an event that differs needs an id of its own",
    field: "id",
  },
  key: {
    code: "IdempotencyKeyReused",
    message: "this Idempotency-Key came with other events before: send these under a new one",
  },
  // Without an id there is nothing to be used twice.
  none: { code: "NotStored", message: "it was not stored; send it again" },
};

const FULL: ItemError = { code: "StoreFull", message: "the store is nearly full; send it again later" };
const NOT_STORED: ItemError = {
  code: "NotStored",
  message: "the store did not confirm it; send it again, with the same id or Idempotency-Key",
};

/** What a claim's answer means for its event. */
export function resultOf({ outcome, id }: ClaimResult, { idFrom }: Publishable): ItemResult {
  if (outcome === "new") return { status: "accepted", id };
  if (outcome === "reused") return failure(REUSED[idFrom]);
  return { status: "duplicate", id, ...(outcome === "revived" && { revived: true as const }) };
}

/** What a claim without an answer means for its event. */
export function resultOfError(error: unknown): ItemResult {
  return failure(error instanceof CustodyError && error.code === "OutOfMemory" ? FULL : NOT_STORED);
}

export function failure(error: ItemError): ItemResult {
  return { status: "error", error };
}

/** Label `outcome` of `davit_ingest_requests_total` for one event. */
export function outcomeOf(result: ItemResult): Outcome {
  if (result.status === "accepted") return "accepted";
  if (result.status === "duplicate") return result.revived ? "revived" : "duplicate";
  if (isStoreError(result)) return "unavailable";
  return result.error.code === "EventTooLarge" ? "too_large" : "unprocessable";
}

/**
 * The answer of a request as a whole: 200 as soon as one event is in custody and none is left that the same request could bring in, so that a producer that
 * looks at nothing but the status loses no event to an outage of ours.
 *
 * @returns the refusal whose status it has; `undefined`: 200
 */
export function refusalOf(results: readonly ItemResult[]): ApiRefusal | undefined {
  if (results.some(isStoreError)) return API_REFUSALS.NotStored;
  if (results.some(({ status }) => status !== "error")) return undefined;
  const isReused = (result: ItemResult) => result.status === "error" && result.error.code === "IdempotencyKeyReused";
  return results.every(isReused) ? API_REFUSALS.IdempotencyKeyReused : API_REFUSALS.NothingAccepted;
}

function isStoreError(result: ItemResult): boolean {
  return result.status === "error" && (result.error.code === "NotStored" || result.error.code === "StoreFull");
}

/** The answer's JSON. */
export function answerOf(results: readonly ItemResult[], refusal: ApiRefusal | undefined): PublishAnswer {
  const count = (status: ItemResult["status"]) => results.filter((result) => result.status === status).length;
  return {
    ...(refusal && { error: refusal.reason, message: refusal.message }),
    accepted: count("accepted"),
    duplicates: count("duplicate"),
    errors: count("error"),
    results,
  };
}
