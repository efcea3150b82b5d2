import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

/** A set of address ranges. */
export type AddressSet = (address: string) => boolean;

/**
 * Compiles CIDRs (`10.0.0.0/8`, `fd00::/8`, or one address).
 *
 * @throws RangeError that names the range
 */
export function addressSet(ranges: readonly string[]): AddressSet {
  const list = new BlockList();
  for (const range of ranges) {
    const { address, bits, family } = parseRange(range);
    list.addSubnet(address, bits, family);
  }
  return (address) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

function parseRange(range: string): { address: string; bits: number; family: "ipv4" | "ipv6" } {
  const [address = "", prefix] = range.split("/");
  const version = isIP(address);
  const most = version === 6 ? 128 : 32;
  const bits = Number(prefix ?? most);
  if (version === 0 || !/^\d{1,3}$/.test(prefix ?? String(most)) || bits > most) {
    throw new RangeError(`"${range}" is not an address range: write it as 10.0.0.0/8 or fd00::/8`);
  }
  return { address, bits, family: version === 6 ? "ipv6" : "ipv4" };
}

/**
 * The address of the client: the first hop, seen from here, that is no trusted proxy. `X-Forwarded-For` is believed only as far as trusted proxies
 * wrote it, from right to left.
 */
export function clientAddress(
  request: Pick<IncomingMessage, "headers" | "socket">,
  trusted: AddressSet | undefined,
): string {
  let hop = plainAddress(request.socket.remoteAddress ?? "");
  const forwarded = request.headers["x-forwarded-for"];
  if (!trusted || forwarded === undefined) return hop;
  const hops = String(forwarded).split(",");
  while (hops.length > 0 && isIP(hop) !== 0 && trusted(hop)) {
    const next = plainAddress((hops.pop() ?? "").trim());
    if (isIP(next) === 0) return hop;
    hop = next;
  }
  return hop;
}

/** Without port, brackets and the IPv4-mapped prefix. */
function plainAddress(text: string): string {
  const bracketed = /^\[([^\]]+)\](:\d+)?$/.exec(text)?.[1];
  const withPort = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1];
  return (bracketed ?? withPort ?? text).replace(/^::ffff:(?=\d+\.)/i, "");
}

/** What one client is counted by: an IPv4 address, or the /64 of an IPv6 address, of which one host has 2^64. */
export function rateKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  if (tail === undefined) return groups.slice(0, 4).join(":");
  const end = tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - end.length) }, () => "0");
  return [...groups, ...zeros, ...end].slice(0, 4).join(":");
}
