import { BEARER_CHALLENGE } from "../lib/bearer-token.ts";

/** Why a listener of the console refuses a request. Goes out as `error`; callers decide by it. */
export type Reason =
  | "NoSuchEndpoint"
  | "MethodNotAllowed"
  | "TokenMissing"
  | "TokenRefused"
  | "RequestInvalid"
  | "RequestTooLarge"
  | "NotJson"
  | "NotAllowed"
  | "AccessUnknown"
  | "NotReady"
  | "NoSuchNamespace"
  | "NoSuchRoute"
  | "NoSuchDestination"
  | "NoSuchEvent"
  | "EventUnreadable"
  | "NoSuchReplay"
  | "CursorExpired"
  | "ReplayKeyReused"
  | "DestinationDisabled"
  | "RateLimited"
  | "TooManyReplays"
  | "ExpectationFailed"
  | "TooManyInFlight"
  | "StoreUnavailable"
  | "Unexpected";

type Row = readonly [status: number, message: string, retryAfter?: number];

const ROWS: Readonly<Record<Reason, Row>> = {
  NoSuchEndpoint: [404, "there is no such endpoint"],
  MethodNotAllowed: [405, "this endpoint does not take this method: see Allow"],
  TokenMissing: [401, "send a token: Authorization: Bearer TOKEN"],
  TokenRefused: [401, "this token is unknown, has expired, or is made for another audience"],
  RequestInvalid: [400, "the request is not as it should be"],
  RequestTooLarge: [413, "the body is larger than 64 KiB"],
  NotJson: [400, "the body is not a JSON object in UTF-8"],
  NotAllowed: [403, "this token may not do that"],
  AccessUnknown: [503, "whether this is allowed cannot be told now; send it again", 5],
  NotReady: [503, "routes and destinations are not known yet; send it again", 2],
  NoSuchNamespace: [404, "there is neither a route nor a WebhookDestination in this namespace"],
  NoSuchRoute: [404, "there is no such route"],
  NoSuchDestination: [404, "there is no such destination"],
  NoSuchEvent: [404, "there is no such event of this route, or it is no longer kept"],
  EventUnreadable: [409, "only a newer Davit may read this event; ask again when all of it is updated"],
  NoSuchReplay: [404, "there is no such replay; those that ended are known for 7 days"],
  CursorExpired: [410, "events after this cursor are no longer kept"],
  ReplayKeyReused: [409, "this Idempotency-Key was used for another replay: use another key"],
  DestinationDisabled: [409, "it is disabled, and takes nothing until it is enabled"],
  RateLimited: [429, "too many requests: send them more slowly", 1],
  TooManyReplays: [429, "there are too many replays already: cancel some, or wait for their end", 60],
  ExpectationFailed: [417, "only Expect: 100-continue is understood"],
  TooManyInFlight: [429, "too many requests at the same time", 1],
  StoreUnavailable: [503, "the store does not answer; send it again", 2],
  Unexpected: [503, "the request could not be handled; send it again", 5],
};

/** One thing that is wrong with a request: where, and what to write instead. */
export interface InputProblem {
  /** `limit` of the query, `filter.from` of the body, `Idempotency-Key` of the headers. */
  readonly field: string;
  readonly message: string;
}

/** What a refusal says beside its reason. */
export interface RefusalDetails {
  /** In place of the reason's own. */
  readonly message?: string;
  /** Further fields of the answer. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only. */
  readonly detail?: string;
}

/** Ends a request with a refusal. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: Reason;
  readonly details: RefusalDetails;

  constructor(code: Reason, details: RefusalDetails = {}) {
    super(details.message ?? ROWS[code][1]);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ROWS[this.code][0];
  }

  /** The answer's own headers: `Retry-After` in seconds, the challenge of a 401. */
  get headers(): Readonly<Record<string, string>> {
    const retryAfter = ROWS[this.code][2];
    return {
      ...(this.status === 401 && { "www-authenticate": BEARER_CHALLENGE }),
      ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
      ...this.details.headers,
    };
  }

  /** The answer: `{"error", "message"}`, and what else the reason has to tell. */
  get body(): object {
    return { error: this.code, message: this.message, ...this.details.fields };
  }
}

/** Most problems that an answer lists: a small request must not make a large answer. */
const MOST_PROBLEMS = 50;

/** A request with these problems, all of them up to a bound. */
export function invalid(problems: readonly InputProblem[]): Refused {
  const told = problems.slice(0, MOST_PROBLEMS);
  const more = problems.length - told.length;
  const texts = told.map(({ field, message: text }) => `${field}: ${text}`);
  const message = [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
  return new Refused("RequestInvalid", { message, fields: { problems: told } });
}
