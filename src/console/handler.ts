import type { IncomingMessage } from "node:http";
import { CustodyError } from "../custody/port.ts";
import type { Access, Caller } from "../kube/access.ts";
import { bearerToken } from "../lib/bearer-token.ts";
import type { Logger } from "../observability/logger.ts";
import { demand, known } from "./access.ts";
import type { Answer, Call, Endpoint, Surroundings } from "./endpoint.ts";
import type { InFlight } from "./in-flight.ts";
import { readInput } from "./input.ts";
import { Refused } from "./refusals.ts";

/** Longest name in an audit line, characters. */
const MAX_NAME = 256;

/** Whom tokens belong to, where callers are more than a name and rights. */
export interface AccessOf<C extends Caller> extends Access {
  caller(token: string): Promise<C | undefined>;
}

/** What {@link Handler} needs. */
export interface HandlerOptions<C extends Caller> extends Surroundings {
  readonly access: AccessOf<C>;
  readonly logger: Logger;
  /**
   * Bounds how often somebody may call, `undefined` being whoever has no token that is known.
   * @throws Refused
   */
  readonly admit?: (request: IncomingMessage, caller: C | undefined) => void;
}

/** Takes a request to its endpoint: who it is comes first, then what is wanted, then whether they may, and only then what there is. */
export class Handler<C extends Caller> {
  readonly #options: HandlerOptions<C>;
  readonly #inFlight: InFlight;

  constructor(options: HandlerOptions<C>, inFlight: InFlight) {
    this.#options = options;
    this.#inFlight = inFlight;
  }

  /** @param path decoded values of the path's names. Never rejects. */
  async handle(
    endpoint: Endpoint<C>,
    request: IncomingMessage,
    path: Readonly<Record<string, string>>,
  ): Promise<Answer | Refused> {
    let caller: C | undefined;
    let leave: (() => void) | undefined;
    try {
      caller = await this.#callerOf(request);
      leave = this.#inFlight.enterAs(caller.name);
      if (leave === undefined) throw new Refused("TooManyInFlight");
      const answer = await this.#run(endpoint, request, { caller, path });
      if (endpoint.method !== "GET" && answer.changes !== false) this.#audit(endpoint, caller, path, answer);
      return answer;
    } catch (error) {
      const answer = this.#refusalOf(error, endpoint);
      if (caller !== undefined && endpoint.method !== "GET") this.#audit(endpoint, caller, path, answer);
      return answer;
    } finally {
      leave?.();
    }
  }

  async #callerOf(request: IncomingMessage): Promise<C> {
    const token = bearerToken(request);
    const { access, admit } = this.#options;
    const caller = token === undefined ? undefined : await known(access.caller(token));
    admit?.(request, caller);
    if (token === undefined) throw new Refused("TokenMissing");
    if (caller === undefined) throw new Refused("TokenRefused");
    return caller;
  }

  async #run(
    endpoint: Endpoint<C>,
    request: IncomingMessage,
    { caller, path }: { readonly caller: C; readonly path: Readonly<Record<string, string>> },
  ): Promise<Answer> {
    const { directory, custody } = this.#options;
    const input = await readInput(endpoint, request, path);
    const call: Call<unknown, unknown, unknown, C> = { ...input, caller, directory, custody };
    if (!directory.isReady) throw new Refused("NotReady");
    await demand(caller, await endpoint.rights(call));
    return endpoint.handle(call);
  }

  #refusalOf(error: unknown, { operation }: Endpoint<C>): Refused {
    if (error instanceof Refused) return error;
    if (error instanceof CustodyError) {
      this.#options.logger.warn({ operation, code: error.code }, "the store did not answer a call of the API");
      return new Refused("StoreUnavailable", { detail: error.code });
    }
    this.#options.logger.error({ operation, err: error }, "a call of the API failed");
    return new Refused("Unexpected");
  }

  /** Who tried to change what, and what came of it. */
  #audit(
    { operation }: Endpoint<C>,
    caller: C,
    path: Readonly<Record<string, string>>,
    answer: Answer | Refused,
  ): void {
    // What was refused may have anything for a name.
    const names = Object.fromEntries(Object.entries(path).map(([name, value]) => [name, value.slice(0, MAX_NAME)]));
    const line = { audit: true, caller: caller.name, operation, ...names };
    if (answer instanceof Refused) {
      const { status, code: reason, details } = answer;
      this.#options.logger.info({ ...line, status, reason, detail: details.detail }, "change refused");
    } else this.#options.logger.info({ ...line, status: answer.status ?? 200, ...answer.audit }, "change made");
  }
}
