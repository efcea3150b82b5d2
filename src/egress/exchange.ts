import type { Dispatcher } from "undici";
import type { Expiring } from "./deadlines.ts";
import { errorCode } from "./error-code.ts";

/** How a request ended. */
export type SendResult =
  | {
      readonly type: "response";
      readonly status: number;
      /** The field's value; absent also when it was sent more than once. */
      readonly retryAfter?: string;
      /** First 2 KiB of the body as text. */
      readonly head: string;
      readonly durationMs: number;
    }
  /** See `errorCode` for the codes. The request may have been acted on. */
  | { readonly type: "error"; readonly code: string; readonly durationMs: number }
  /** No byte reached a socket. */
  | { readonly type: "notSent" };

/** Bytes of a response body that are kept. */
export const KEPT_BYTES = 2_048;
/** Bytes of a response body that are read so that the connection can be used again; beyond, it is cheaper to open a new one. */
export const READ_BYTES = 65_536;

/** What an exchange needs from its sender. */
export interface ExchangeContext {
  /** Monotonic ms. */
  readonly startedAt: number;
  readonly deadline: number;
  readonly now: () => number;
  readonly beforeWrite: (() => boolean) | undefined;
  /** Called exactly once. */
  readonly settled: (result: SendResult) => void;
}

/** Thrown out of `onRequestStart`: undici then drops the request and keeps the socket. */
class Refused extends Error {}

/**
 * One request as an undici handler: no stream, no promise per chunk.
 *
 * undici 8.13 calls `onRequestStart` on a connected socket, synchronously before the request line is written (`writeH1` in
 * `lib/dispatcher/client-h1.js`), and writes nothing when it throws. `test/integration/delivery-http.test.ts` holds it to that.
 */
export class Exchange implements Dispatcher.DispatchHandler, Expiring {
  readonly deadline: number;
  readonly #context: ExchangeContext;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status = 0;
  #retryAfter: string | undefined;
  #kept: Buffer | undefined;
  #read = 0;

  constructor(context: ExchangeContext) {
    this.#context = context;
    this.deadline = context.deadline;
  }

  /** Gives the request up unless it has been written. */
  recall(): void {
    if (this.#controller === undefined) this.#settle({ type: "notSent" });
  }

  onDeadline(): void {
    this.#fail("timeout");
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Settled while it waited for a connection; or undici offers it a second time, which could deliver it twice.
    if (this.#settled || this.#controller !== undefined) throw new Refused("no longer wanted");
    if (this.#context.beforeWrite?.() === false) {
      this.#settle({ type: "notSent" });
      throw new Refused("refused before the write");
    }
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    const retryAfter = headers["retry-after"];
    this.#retryAfter = typeof retryAfter === "string" ? retryAfter : undefined;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#read < KEPT_BYTES) this.#keep(chunk);
    this.#read += chunk.length;
    if (this.#read <= READ_BYTES || this.#settled) return;
    this.#respond();
    controller.abort(new Refused("enough of the response"));
  }

  onResponseEnd(): void {
    this.#respond();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    if (!this.#settled) this.#fail(errorCode(error));
  }

  #keep(chunk: Buffer): void {
    const part = chunk.subarray(0, KEPT_BYTES - this.#read);
    this.#kept = this.#kept === undefined ? part : Buffer.concat([this.#kept, part]);
  }

  #respond(): void {
    const result = {
      type: "response",
      status: this.#status,
      head: this.#kept === undefined ? "" : this.#kept.toString(),
      durationMs: this.#elapsed(),
    } as const;
    this.#settle(this.#retryAfter === undefined ? result : { ...result, retryAfter: this.#retryAfter });
  }

  #fail(code: string): void {
    this.#settle({ type: "error", code, durationMs: this.#elapsed() });
    this.#controller?.abort(new Refused(code));
  }

  #elapsed(): number {
    return Math.round(this.#context.now() - this.#context.startedAt);
  }

  #settle(result: SendResult): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#context.settled(result);
  }
}
