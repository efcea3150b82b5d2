import type { Refusal } from "../refusals.ts";
import type { Outcome } from "../refusals.ts";

/** Why the API listener refuses a request as a whole, beside the reasons that hold for the public one as well. Goes out as `error`. */
export type ApiReason =
  | "NoSuchEndpoint"
  | "MethodNotAllowed"
  | "IdempotencyKeyMalformed"
  | "TokenMissing"
  | "TokenRefused"
  | "NotAllowed"
  | "NoSuchRoute"
  | "NotReady"
  | "AccessUnknown"
  | "TooManyBytesInFlight"
  | "RequestTooLarge"
  | "NotJson"
  | "NotAList"
  | "NoEvents"
  | "TooManyEvents"
  | "NothingAccepted"
  | "IdempotencyKeyReused"
  | "NotStored"
  | "RunNotAllowed"
  | "RunMethodNotAllowed"
  | "RunIdMalformed"
  | "RunRequestTooLarge"
  | "NoSuchPolicy"
  | "NoSuchRun"
  | "TooManySearches"
  | "RunUnknown";

/** A {@link Refusal} of the API listener. */
export type ApiRefusal = Omit<Refusal, "reason"> & { readonly reason: ApiReason; readonly message: string };

type Row = readonly [status: number, outcome: Outcome, message: string, retryAfter?: number];

const ROWS: Readonly<Record<ApiReason, Row>> = {
  NoSuchEndpoint: [
    404,
    "not_found",
    "there is no such endpoint: events go to /v1/namespaces/NAMESPACE/routes/ROUTE/events, runs are at /v1/namespaces/NAMESPACE/cleanup-policies/POLICY/runs/RUN_ID",
  ],
  MethodNotAllowed: [405, "rejected", "events are published with POST"],
  IdempotencyKeyMalformed: [
    400,
    "rejected",
    "Idempotency-Key must be one value of 1 to 255 printable ASCII characters",
  ],
  TokenMissing: [401, "unauthenticated", "send the token of a service account: Authorization: Bearer TOKEN"],
  TokenRefused: [401, "unauthenticated", "this token is unknown, has expired, or is made for another audience"],
  NotAllowed: [403, "rejected", "this service account may not create webhookroutes/events of this route"],
  NoSuchRoute: [404, "not_found", "there is no such route"],
  NotReady: [503, "unavailable", "the routes are not known yet; send it again", 2],
  AccessUnknown: [503, "unavailable", "whether this is allowed cannot be told now; send it again", 5],
  TooManyBytesInFlight: [429, "limited", "too much is being published at the same time", 1],
  RequestTooLarge: [413, "too_large", "the request is larger than is taken at once: send fewer events in one"],
  NotJson: [400, "rejected", "the body is not JSON in UTF-8"],
  NotAList: [400, "rejected", 'the body must be a JSON array of events, or {"events": [...]} and nothing else'],
  NoEvents: [400, "rejected", "the list holds no event"],
  TooManyEvents: [413, "too_large", "at most 500 events are taken at once: send them in several requests"],
  NothingAccepted: [422, "unprocessable", "no event was accepted; results says why, for each"],
  IdempotencyKeyReused: [
    409,
    "unprocessable",
    "this Idempotency-Key was used with other events before; results says for which",
  ],
  NotStored: [503, "unavailable", "not every event was stored; send the same request again", 2],
  RunNotAllowed: [403, "rejected", "this service account may not get cleanupruns of this namespace"],
  RunMethodNotAllowed: [405, "rejected", "a run is read with GET"],
  RunIdMalformed: [400, "rejected", "a run_id is 1 to 128 printable ASCII characters without blanks, percent-encoded"],
  RunRequestTooLarge: [413, "too_large", "a run is read without a body"],
  NoSuchPolicy: [404, "not_found", "there is no such CleanupPolicy"],
  NoSuchRun: [
    404,
    "not_found",
    "there is no such run, and no event in custody asks for one: it was never sent, or its record is kept no longer",
  ],
  TooManySearches: [429, "limited", "too many runs are looked for at the same time", 1],
  RunUnknown: [503, "unavailable", "what became of the run cannot be told now; ask again", 5],
};

/** What is said of a run where callers know it from other endpoints under this code. */
const CODES: Readonly<Partial<Record<ApiReason, ApiReason>>> = {
  RunNotAllowed: "NotAllowed",
  RunMethodNotAllowed: "MethodNotAllowed",
  RunRequestTooLarge: "RequestTooLarge",
};

/** Every refusal of the API listener by its reason. */
export const API_REFUSALS = Object.fromEntries(
  (Object.entries(ROWS) as [ApiReason, Row][]).map(([key, [status, outcome, message, retryAfter]]) => [
    key,
    {
      reason: CODES[key] ?? key,
      status,
      outcome,
      message,
      retryAfter,
      body: Buffer.from(JSON.stringify({ error: CODES[key] ?? key, message })),
      traced: false,
    },
  ]),
) as Readonly<Record<ApiReason, ApiRefusal>>;
