import { hash } from "node:crypto";
import type { Rejection } from "../custody/port.ts";
import type { Logger } from "../observability/logger.ts";
import { TokenBucket } from "../lib/token-bucket.ts";

/** Most traces and log lines a second: a flood of bad requests must not become a flood of writes. */
const PER_SECOND = 50;

/** A refused request, with what its trace needs. Values of headers are never among it. */
export interface Refused {
  readonly namespace: string;
  readonly name: string;
  readonly route: string;
  readonly status: number;
  readonly reason: string;
  readonly detail: string;
  readonly traced: boolean;
  readonly client: () => string;
  readonly headerNames: () => readonly string[];
  /** `undefined` when it was not read. */
  readonly body: Buffer | undefined;
  /** See `Rejection.idHash`. */
  readonly idHash: () => string | undefined;
}

/** Leaves a trace and a log line of refused requests, as far as the rate allows. */
export class RejectionTrail {
  readonly #logger: Logger;
  readonly #trace: (namespace: string, rejection: Rejection) => void;
  #bucket: TokenBucket | undefined;
  #suppressed = 0;

  constructor(logger: Logger, trace: (namespace: string, rejection: Rejection) => void) {
    this.#logger = logger;
    this.#trace = trace;
  }

  /** @param now Unix ms and ms of the monotonic clock */
  record(refused: Refused, now: { readonly unix: number; readonly monotonic: number }): void {
    this.#bucket ??= new TokenBucket(PER_SECOND, PER_SECOND / 1_000, now.monotonic);
    if (this.#bucket.take(now.monotonic) > 0) {
      this.#suppressed += 1;
      return;
    }
    const { namespace, name, status, reason, detail } = refused;
    const client = refused.client();
    const suppressed = this.#suppressed > 0 ? { suppressed: this.#suppressed } : {};
    this.#suppressed = 0;
    this.#logger.info(
      { namespace, route: name, status, reason, client, ...suppressed },
      `refused with ${status}: ${detail}`,
    );
    if (refused.traced) this.#trace(namespace, rejectionOf(refused, client, now.unix));
  }
}

function rejectionOf(refused: Refused, client: string, at: number): Rejection {
  const { route, status, reason, headerNames, body } = refused;
  const idHash = refused.idHash();
  return {
    route,
    at,
    client,
    status,
    reason,
    headerNames: headerNames(),
    bodyBytes: body?.length ?? 0,
    bodySha256: body ? hash("sha256", body, "hex") : "",
    ...(idHash !== undefined && { idHash }),
  };
}
