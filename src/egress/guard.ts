import { lookup as systemLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { addressSet, type AddressSet } from "../lib/address-set.ts";
import { classifyAddress } from "./address-class.ts";
import type { Connector } from "./pools.ts";

/** Finds all addresses of a name, as `dns.lookup` with `all`. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export interface EgressGuardOptions {
  /** CIDRs that may be reached although they are not public. */
  readonly allow?: readonly string[];
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
}

/** A connection that is not made, because of where it would lead. Its code is `EGRESS_FORBIDDEN`. */
export class EgressForbiddenError extends Error {
  readonly code = "EGRESS_FORBIDDEN";
  constructor(host: string, what: string) {
    super(`${host} may not be reached: ${what}`);
    this.name = "EgressForbiddenError";
  }
}

/** Decides where connections may lead that somebody outside can direct. */
export class EgressGuard {
  readonly #allowed: AddressSet;
  readonly #resolve: Resolve;

  /** @throws RangeError when a range of `allow` is none */
  constructor({ allow = [], resolve = resolveAll }: EgressGuardOptions = {}) {
    this.#allowed = addressSet(allow);
    this.#resolve = resolve;
  }

  /** Why an address may not be reached; `undefined` when it may. A zone (`%eth0`) does not count. */
  refusal(address: string): string | undefined {
    const [bare = ""] = address.split("%", 1);
    const addressClass = classifyAddress(bare);
    return addressClass === "public" || this.#allowed(bare) ? undefined : `${bare} is ${addressClass}`;
  }

  /**
   * A `lookup` for sockets. The name is resolved once, every address of it is judged, and one that is forbidden refuses them all: what the socket then
   * connects to is what was judged, so that a name whose answer changes gains nothing.
   */
  readonly lookup: LookupFunction = (host, options, callback) => {
    this.#resolve(host, (error, addresses) => {
      if (error) return callback(error, "", 0);
      const refused = addresses.map(({ address }) => this.refusal(address)).find((why) => why !== undefined);
      const [first] = addresses;
      if (refused !== undefined) return callback(new EgressForbiddenError(host, refused), "", 0);
      if (first === undefined) return callback(new EgressForbiddenError(host, "it has no address"), "", 0);
      if (options.all === true) return callback(null, [...addresses]);
      return callback(null, first.address, first.family);
    });
  };

  /**
   * A connector for undici. Sockets do not look up what is an address already, so that is judged here.
   *
   * @param timeoutMs TCP and TLS handshake together
   */
  connector(timeoutMs: number): Connector {
    // HTTP/1.1 only, as `Pools`. What undici does not name, `lookup` among it, it hands on to the socket.
    const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup: this.lookup });
    return (target, callback) => {
      const host = target.hostname.replace(/^\[(.*)\]$/, "$1");
      const why = isIP(host) === 0 ? undefined : this.refusal(host);
      if (why === undefined) connect(target, callback);
      else callback(new EgressForbiddenError(host, why), null);
    };
  }
}

function resolveAll(...[host, done]: Parameters<Resolve>): void {
  const options: LookupOptions & { all: true } = { all: true, order: "verbatim" };
  systemLookup(host, options, done);
}
