import type { WrittenRefusal } from "../respond.ts";

/** Ends a request of the API listener with a refusal. */
export class Refused extends Error {
  readonly refusal: WrittenRefusal;
  /** Seconds, where it is not the refusal's own. */
  readonly retryAfter: number | undefined;
  /** One line for the log. */
  readonly detail: string | undefined;

  constructor(
    refusal: WrittenRefusal,
    more: { readonly retryAfter?: number | undefined; readonly detail?: string } = {},
  ) {
    super(refusal.reason);
    this.refusal = refusal;
    this.retryAfter = more.retryAfter;
    this.detail = more.detail;
  }
}
