import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EgressGuard } from "../../src/egress/guard.ts";
import { aliasLookup } from "../../src/egress/service-alias.ts";
import { DnsServer } from "../support/dns-server.ts";

let dns: DnsServer;
let server: string;
beforeEach(async () => {
  dns = new DnsServer({
    "orders.shop.svc.cluster.local": "none",
    "alias.shop.svc.cluster.local": { alias: "vault.other.svc.cluster.local" },
    "ill.shop.svc.cluster.local": "failure",
  });
  server = await dns.start();
});
afterEach(() => dns.stop());

/** What a socket to a host is told, where every name has a private address. */
async function lookUp(host: string, network: "Public" | "Cluster" = "Cluster", domain = "cluster.local") {
  const guard = new EgressGuard({
    allow: [],
    resolve: (_host, done) => done(null, [{ address: network === "Cluster" ? "10.96.0.7" : "8.8.8.8", family: 4 }]),
    isAlias: aliasLookup({ domain, servers: [server] }),
  });
  return new Promise<string>((resolve) => {
    guard.lookupFor(network)(host, {}, (error, address) =>
      resolve(error ? String(error.code) : JSON.stringify(address)),
    );
  });
}

describe("the name of a Service", () => {
  it("leads to its address when it is no alias", async () => {
    expect(await lookUp("orders.shop.svc")).toBe('"10.96.0.7"');
    expect(await lookUp("Orders.shop.svc.cluster.local.")).toBe('"10.96.0.7"');
    expect(dns.asked).toEqual(["orders.shop.svc.cluster.local", "orders.shop.svc.cluster.local"]);
  });

  it("is refused when it is an alias, as ExternalName Services are, although that has a private address", async () => {
    expect(await lookUp("alias.shop.svc")).toBe("EGRESS_FORBIDDEN");
    expect(await lookUp("alias.shop.svc.cluster.local")).toBe("EGRESS_FORBIDDEN");
  });

  it("is an error that is tried again while the DNS cannot say", async () => {
    expect(await lookUp("ill.shop.svc")).toBe("ESERVFAIL");
  });

  it("is left to the look-up of addresses when the DNS does not know it", async () => {
    expect(await lookUp("absent.shop.svc")).toBe('"10.96.0.7"');
  });

  it("is not asked about for hosts outside the cluster, where aliases are common", async () => {
    expect(await lookUp("alias.shop.svc", "Public")).toBe('"8.8.8.8"');
    expect(await lookUp("hooks.example.com")).toBe('"10.96.0.7"');
    expect(dns.asked).toEqual([]);
  });
});
