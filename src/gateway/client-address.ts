import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { AddressSet } from "../lib/address-set.ts";

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
