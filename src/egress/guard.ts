import { lookup as systemLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { addressSet, type AddressSet } from "../lib/address-set.ts";
import { type AddressClass, classifyAddress } from "./address-class.ts";
import { HOST_PATTERN } from "../lib/host-pattern.ts";
import { aliasLookup, type IsAlias } from "./service-alias.ts";
import { type Connector, socketOptions, type TlsSettings } from "./socket-options.ts";

/** Finds all addresses of a name, as `dns.lookup` with `all`. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export interface EgressGuardOptions {
  /**
   * What may be reached although it is not public: address ranges, and names of hosts (`proxy.example.com`, `*.example.com` for those below it). A name lifts
   * the ban on private addresses and on those of carriers only: link-local ones, where clouds keep credentials, and loopback need a range.
   */
  readonly allow?: readonly string[];
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** Default: the cluster's DNS, where the process is in one. */
  readonly isAlias?: IsAlias;
}

/** Where a connection is meant to lead: out into the world, or to a Service of the cluster. */
export type Network = "Public" | "Cluster";

/** How connections are opened. */
export interface ConnectOptions {
  /** TCP and TLS handshake together, ms. */
  readonly timeoutMs: number;
  /** Default `Public`. */
  readonly network?: Network;
  readonly tls?: TlsSettings | undefined;
}

/** A connection that is not made, because of where it would lead. Its code is `EGRESS_FORBIDDEN`. */
export class EgressForbiddenError extends Error {
  readonly code = "EGRESS_FORBIDDEN";

  constructor(host: string, what: string) {
    super(`${host} may not be reached: ${what}`);
    this.name = "EgressForbiddenError";
  }
}

/**
 * Classes of addresses that each network has. Clusters take those of their Services and Pods from private ranges and from 100.64.0.0/10; one with others names
 * them in `allow`. Public ones are none of a Service's: it would be an alias (`ExternalName`) of a host outside.
 */
const REACHABLE: Readonly<Record<Network, ReadonlySet<AddressClass>>> = {
  Public: new Set(["public"]),
  Cluster: new Set(["private", "carrier-nat"]),
};
const REACHABLE_BY_NAME: ReadonlySet<AddressClass> = new Set(["public", "private", "carrier-nat"]);

/** Decides where connections may lead that somebody outside can direct. */
export class EgressGuard {
  readonly #allowed: AddressSet;
  readonly #allowedHosts: readonly string[];
  readonly #resolve: Resolve;
  readonly #isAlias: IsAlias;
  /** `lookup` for sockets to public addresses, see {@link lookupFor}. */
  readonly lookup: LookupFunction;

  /** @throws RangeError when an item of `allow` is neither a range nor a name */
  constructor({ allow = [], resolve = resolveAll, isAlias = aliasLookup() }: EgressGuardOptions = {}) {
    this.#allowed = addressSet(allow.filter((item) => !isHostPattern(item)));
    this.#allowedHosts = allow.filter(isHostPattern).map((item) => item.toLowerCase());
    this.#resolve = resolve;
    this.#isAlias = isAlias;
    this.lookup = this.lookupFor("Public");
  }

  /**
   * Why an address may not be reached; `undefined` when it may. A zone (`%eth0`) does not count.
   * @param host the name that it is an address of, if any
   */
  refusal(address: string, network: Network = "Public", host?: string): string | undefined {
    const [bare = ""] = address.split("%", 1);
    const addressClass = classifyAddress(bare);
    if (REACHABLE[network].has(addressClass) || this.#allowed(bare)) return undefined;
    const byName = network === "Public" && host !== undefined && this.allowsHost(host);
    return byName && REACHABLE_BY_NAME.has(addressClass) ? undefined : `${bare} is ${addressClass}`;
  }

  /** Whether `allow` names the host. */
  allowsHost(host: string): boolean {
    const name = host.toLowerCase().replace(/\.$/, "");
    return this.#allowedHosts.some((item) =>
      item.startsWith("*.") ? name.endsWith(item.slice(1)) && name.length > item.length - 1 : name === item,
    );
  }

  /**
   * A `lookup` for sockets. The name is resolved once, every address of it is judged, and one that is forbidden refuses them all: what the socket then
   * connects to is what was judged, so that a name whose answer changes gains nothing. In the cluster the name must be that of a Service itself: an alias
   * (`ExternalName`) is refused, wherever it leads.
   */
  lookupFor(network: Network): LookupFunction {
    const judged = this.#judgedLookup(network);
    if (network !== "Cluster") return judged;
    return (host, options, callback) => {
      this.#isAlias(host, (error, isAlias) => {
        if (error) return callback(error, "", 0);
        if (isAlias) return callback(new EgressForbiddenError(host, "it is an alias of another host"), "", 0);
        return judged(host, options, callback);
      });
    };
  }

  #judgedLookup(network: Network): LookupFunction {
    return (host, options, callback) => {
      this.#resolve(host, (error, addresses) => {
        if (error) return callback(error, "", 0);
        const refused = addresses
          .map(({ address }) => this.refusal(address, network, host))
          .find((why) => why !== undefined);
        const [first] = addresses;
        if (refused !== undefined) return callback(new EgressForbiddenError(host, refused), "", 0);
        if (first === undefined) return callback(new EgressForbiddenError(host, "it has no address"), "", 0);
        if (options.all === true) return callback(null, [...addresses]);
        return callback(null, first.address, first.family);
      });
    };
  }

  /** A connector for undici. Sockets do not look up what is an address already, so that is judged here. */
  connector({ timeoutMs, network = "Public", tls }: ConnectOptions): Connector {
    // What undici does not name, `lookup` among it, it hands on to the socket.
    const connect = buildConnector({ ...socketOptions(timeoutMs, tls), lookup: this.lookupFor(network) });
    return (target, callback) => {
      const host = bareHost(target.hostname);
      const why = isIP(host) === 0 ? undefined : this.refusal(host, network);
      if (why === undefined) connect(target, callback);
      else callback(new EgressForbiddenError(host, why), null);
    };
  }
}

/** A host without the brackets that a URL puts around an IPv6 address. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Whether an item of `allow` is a host's name: labels with a dot between them, not all of digits. */
function isHostPattern(item: string): boolean {
  return HOST_PATTERN.test(item);
}

function resolveAll(...[host, done]: Parameters<Resolve>): void {
  const options: LookupOptions & { all: true } = { all: true, order: "verbatim" };
  systemLookup(host, options, done);
}
