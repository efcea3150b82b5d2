import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { addressSet } from "../lib/address-set.ts";
import { clientAddress } from "./client-address.ts";

const trusted = addressSet(["10.0.0.0/8", "fd00::/8", "127.0.0.1"]);

function client(socket: string, forwarded?: string): string {
  const request = {
    socket: { remoteAddress: socket } as Socket,
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  };
  return clientAddress(request, trusted);
}

describe("clientAddress", () => {
  it.each([
    ["the socket's when nobody forwards", "192.0.2.1", undefined, "192.0.2.1"],
    ["the socket's when it is no trusted proxy, whatever it forwards", "192.0.2.1", "203.0.113.9", "192.0.2.1"],
    ["the one a trusted proxy saw", "10.1.1.1", "203.0.113.9", "203.0.113.9"],
    ["the first untrusted one from the right", "10.1.1.1", "1.1.1.1, 203.0.113.9, 10.2.2.2", "203.0.113.9"],
    ["the last trusted one when all are", "10.1.1.1", "10.3.3.3,10.2.2.2", "10.3.3.3"],
    ["that of the proxy which wrote junk", "10.1.1.1", "203.0.113.9, unknown", "10.1.1.1"],
    ["without a port", "10.1.1.1", "203.0.113.9:4711", "203.0.113.9"],
    ["without brackets", "fd00::1", "[2001:db8::7]:4711", "2001:db8::7"],
    ["an IPv4 address that was mapped into IPv6", "::ffff:10.1.1.1", "203.0.113.9", "203.0.113.9"],
  ])("is %s", (_case, socket, forwarded, expected) => {
    expect(client(socket, forwarded)).toBe(expected);
  });

  it("is the socket's when no proxy is trusted", () => {
    const request = { socket: { remoteAddress: "10.1.1.1" } as Socket, headers: { "x-forwarded-for": "1.1.1.1" } };
    expect(clientAddress(request, undefined)).toBe("10.1.1.1");
  });
});

describe("addressSet", () => {
  it.each(["10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/", "10.0.0.0/x", "example.com", ""])(
    "refuses %j",
    (range) => {
      expect(() => addressSet([range])).toThrow(RangeError);
    },
  );

  it("holds a single address and both families", () => {
    expect([trusted("127.0.0.1"), trusted("127.0.0.2"), trusted("fdff::1"), trusted("2001:db8::1")]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});

describe("a set of addresses", () => {
  it.each(["10.1.2.3", "::ffff:10.1.2.3", "::ffff:a01:203", "fd00::9", "127.0.0.1"])("holds %s", (address) => {
    expect(trusted(address)).toBe(true);
  });

  it.each(["11.0.0.1", "127.0.0.2", "::1", "", "unknown", "10.1.2.3:80"])("does not hold %s", (address) => {
    expect(trusted(address)).toBe(false);
  });
});
