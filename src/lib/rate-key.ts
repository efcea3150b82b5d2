import { isIP } from "node:net";

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
