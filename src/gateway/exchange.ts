import type { IncomingMessage, ServerResponse } from "node:http";
import type { Handshake } from "../verification/handshakes/handshake.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import type { Outcome, GatewayReason } from "./refusals.ts";
import type { RequestView } from "./request-view.ts";

/** A request on its way through the gateway. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: PreparedRoute;
  readonly view: RequestView;
  /** Monotonic ms. */
  readonly startedAt: number;
  /** Holds a place in the route's in-flight limit. */
  entered: boolean;
  body: Buffer | undefined;
  /** What the request is when it is no event. */
  handshake: Handshake | undefined;
  /** Id of the cleanup run that the event asks for, once its payload was looked at. */
  runId: string | undefined;
  done: boolean;
}

/** How an exchange ends. */
export interface Endings {
  /** Answers with a refusal, unless it has ended already. `detail` is one line for an operator, without values. */
  refuse(exchange: Exchange, reason: GatewayReason, detail: string): void;
  /** The store, or our own code, failed. */
  failed(exchange: Exchange, error: unknown): void;
  /** The answer is out. */
  finish(exchange: Exchange, outcome: Outcome): void;
}
