import { describe, expect, it } from "vitest";
import { decideHost, type HostRequest } from "./host-policy.ts";
import { configOf, hostOf } from "../testing-plan.ts";

const TLS = { tlsSecretName: "tls" };

function decide(hosts: readonly Readonly<Record<string, unknown>>[], more: Partial<HostRequest> = {}) {
  const request = { host: "hooks.example.com", path: "/shop/a", namespace: "shop", namespaceLabels: {}, ...more };
  return decideHost(request, configOf({ gateway: { hosts } }).gateway.hosts);
}

function messageOf(decision: ReturnType<typeof decideHost>): string {
  if (decision.ok) throw new Error("admitted");
  expect(decision.refusal.reason).toBe("HostNotAllowed");
  return decision.refusal.message;
}

const OWN = { host: "hooks.example.com", ...TLS };

describe("the host policy", () => {
  it("admits every namespace to a host without a selector", () => {
    expect(decide([OWN])).toEqual({ ok: true, host: hostOf(TLS) });
  });

  it("refuses a host that is none of the release's, and names some that are", () => {
    const closed = { host: "secret.example.com", namespaces: { matchLabels: { team: "x" } } };
    const message = messageOf(decide([OWN, closed], { host: "other.example.com" }));
    expect(message).toBe(
      "host other.example.com is none of this release's: use hooks.example.com, or have its administrator add it to gateway.hosts",
    );
    expect(messageOf(decide([]))).toContain("have its administrator add it to gateway.hosts");
  });

  it("refuses a namespace that lacks the labels, and says which", () => {
    const host = { ...OWN, namespaces: { matchLabels: { team: "pay", env: "prod" } } };
    expect(messageOf(decide([host], { namespaceLabels: { env: "prod", team: "other" } }))).toBe(
      "namespace shop may not use host hooks.example.com: kubectl label namespace shop team=pay",
    );
    expect(decide([host], { namespaceLabels: { env: "prod", team: "pay", more: "1" } }).ok).toBe(true);
  });

  it.each([
    ["/shop", "/shop/a", true],
    ["/shop/", "/shop/a", true],
    ["/shop/", "/shop", true],
    ["/shop", "/shopping", false],
    ["/shop", "/", false],
    ["/", "/anything", true],
    ["/", "/", true],
  ])("with the prefix %s the path %s is allowed: %s", (pathPrefix, path, isAllowed) => {
    const decision = decide([{ ...OWN, pathPrefix }], { path });
    expect(decision.ok).toBe(isAllowed);
  });

  it("says which paths there are", () => {
    const hosts = [
      { ...OWN, pathPrefix: "/a" },
      { ...OWN, pathPrefix: "/b" },
    ];
    expect(messageOf(decide(hosts))).toBe(
      "path /shop/a is outside /a or /b, which is all that namespace shop may use of host hooks.example.com: choose a path below it",
    );
  });

  it("gives a route to the longest prefix of those that admit its namespace", () => {
    const hosts = [
      OWN,
      { ...OWN, pathPrefix: "/shop" },
      { ...OWN, pathPrefix: "/shop/a", namespaces: { matchLabels: { a: "b" } } },
    ];
    const decision = decide(hosts);
    expect(decision.ok && decision.host.pathPrefix).toBe("/shop");
  });

  it("takes a wildcard for one label, and the very host before it", () => {
    const wildcard = { host: "*.example.com", ...TLS };
    const hostFor = (host: string, hosts = [wildcard, OWN]) => {
      const decision = decide(hosts, { host });
      return decision.ok && decision.host.host;
    };
    expect(hostFor("hooks.example.com")).toBe("hooks.example.com");
    expect(hostFor("other.example.com")).toBe("*.example.com");
    expect(hostFor("a.other.example.com")).toBe(false);
    expect(hostFor("example.com")).toBe(false);
    expect(hostFor("localhost")).toBe(false);
    const closed = { ...OWN, namespaces: { matchLabels: { a: "b" } } };
    expect(hostFor("hooks.example.com", [wildcard, closed])).toBe(false);
  });

  it.each([
    ["an Ingress without a certificate", {}, true],
    ["an Ingress with a certificate", TLS, false],
    ["an Ingress behind something that ends TLS", { allowHTTP: true }, false],
    ["a Gateway, whose listener has the certificate", { via: "HTTPRoute", parentRefs: [{ name: "g" }] }, false],
    ["other means that nobody vouched for", { via: "None" }, true],
    ["other means with TLS", { via: "None", allowHTTP: true }, false],
  ])("misses TLS, or not, with %s", (_, entry, isMissing) => {
    const decision = decide([{ host: "hooks.example.com", ...entry }]);
    expect(decision.ok && decision.tlsMissing?.reason).toBe(isMissing ? "TLSMissing" : undefined);
  });
});
