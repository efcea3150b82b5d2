import { isIPv4, isIPv6 } from "node:net";

/** What an address is for. Only `public` ones may be reached by what a tenant or a sender can name. */
export type AddressClass =
  | "public"
  | "unspecified"
  | "loopback"
  | "private"
  | "link-local"
  | "carrier-nat"
  | "multicast"
  | "broadcast"
  | "documentation"
  | "benchmarking"
  | "embedded-ipv4"
  | "reserved"
  | "invalid";

type Row = readonly [prefix: string, bits: number, addressClass: AddressClass];

/** IANA's special-purpose registry of IPv4 (RFC 6890 and updates); the first row that matches counts. */
const IPV4: readonly Row[] = [
  ["0.0.0.0", 8, "unspecified"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "carrier-nat"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "link-local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "documentation"],
  ["192.88.99.0", 24, "reserved"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "benchmarking"],
  ["198.51.100.0", 24, "documentation"],
  ["203.0.113.0", 24, "documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["255.255.255.255", 32, "broadcast"],
  ["240.0.0.0", 4, "reserved"],
];

/**
 * IANA's special-purpose registry of IPv6. Addresses that carry an IPv4 address in a way that some router unwraps (6to4, Teredo, translated, compatible) are
 * never public, whatever they carry. Outside of 2000::/3 nothing is.
 */
const IPV6: readonly Row[] = [
  ["::", 128, "unspecified"],
  ["::1", 128, "loopback"],
  ["::", 96, "embedded-ipv4"],
  ["::ffff:0:0:0", 96, "embedded-ipv4"],
  ["64:ff9b:1::", 48, "embedded-ipv4"],
  ["2001::", 32, "embedded-ipv4"],
  ["2001::", 23, "reserved"],
  ["2001:db8::", 32, "documentation"],
  ["2002::", 16, "embedded-ipv4"],
  ["2620:4f:8000::", 48, "reserved"],
  ["3fff::", 20, "documentation"],
  ["2000::", 3, "public"],
  ["fc00::", 7, "private"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "private"],
  ["ff00::", 8, "multicast"],
];

/** IPv4-mapped (RFC 4291 §2.5.5.2) and NAT64 (RFC 6052): one hop away they are the IPv4 address, so its class is theirs. */
const UNWRAPPED: readonly Row[] = [
  ["::ffff:0:0", 96, "embedded-ipv4"],
  ["64:ff9b::", 96, "embedded-ipv4"],
];

/**
 * The class of an address in text, IPv4 in dotted decimal or IPv6 with or without zone. Anything else is `invalid`: forms such as `0x7f.1` or `2130706433`
 * are what a resolver makes an address of, and what it makes is judged.
 */
export function classifyAddress(text: string): AddressClass {
  const bytes = addressBytes(text);
  if (bytes === undefined) return "invalid";
  if (bytes.length === 4) return lookUp(IPV4_ROWS, bytes) ?? "public";
  if (lookUp(UNWRAPPED_ROWS, bytes)) return lookUp(IPV4_ROWS, bytes.subarray(12)) ?? "public";
  return lookUp(IPV6_ROWS, bytes) ?? "reserved";
}

interface Range {
  readonly prefix: Buffer;
  readonly bits: number;
  readonly addressClass: AddressClass;
}

const IPV4_ROWS = ranges(IPV4);
const IPV6_ROWS = ranges(IPV6);
const UNWRAPPED_ROWS = ranges(UNWRAPPED);

function ranges(rows: readonly Row[]): readonly Range[] {
  return rows.map(([text, bits, addressClass]) => ({
    prefix: addressBytes(text) ?? Buffer.alloc(0),
    bits,
    addressClass,
  }));
}

function lookUp(rows: readonly Range[], address: Buffer): AddressClass | undefined {
  return rows.find(({ prefix, bits }) => isWithin(address, prefix, bits))?.addressClass;
}

function isWithin(address: Buffer, prefix: Buffer, bits: number): boolean {
  const whole = bits >> 3;
  if (!address.subarray(0, whole).equals(prefix.subarray(0, whole))) return false;
  const mask = (0xff00 >> (bits & 7)) & 0xff;
  return ((address[whole] ?? 0) & mask) === ((prefix[whole] ?? 0) & mask);
}

/** 4 or 16 bytes; `undefined` for what is no address. */
function addressBytes(text: string): Buffer | undefined {
  if (isIPv4(text)) return Buffer.from(text.split(".").map(Number));
  const [address = ""] = text.split("%", 1);
  return isIPv6(address) ? ipv6Bytes(address) : undefined;
}

/** @param text a valid IPv6 address without zone */
function ipv6Bytes(text: string): Buffer {
  const [head = "", tail] = text.split("::");
  const before = groupBytes(head);
  if (tail === undefined) return before;
  const after = groupBytes(tail);
  return Buffer.concat([before, Buffer.alloc(Math.max(0, 16 - before.length - after.length)), after]);
}

function groupBytes(text: string): Buffer {
  if (text === "") return Buffer.alloc(0);
  return Buffer.from(
    text.split(":").flatMap((group) => {
      if (group.includes(".")) return group.split(".").map(Number);
      const value = Number.parseInt(group, 16);
      return [value >> 8, value & 0xff];
    }),
  );
}
