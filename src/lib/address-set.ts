import { BlockList, isIP } from "node:net";

/** A set of address ranges. What is no address is in none. */
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
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? "ipv6" : "ipv4");
  };
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
