import { describe, expect, it } from "vitest";
import type { WebhookRoute } from "../../../api/generated/webhook-route.ts";
import { destinationsFinding, namesPolicy } from "./destinations-finding.ts";

type Spec = Pick<WebhookRoute["spec"], "destinations" | "destinationSelector">;

const inline = { name: "own", url: "https://elsewhere.example.com" };
const shared = { name: "theirs", destinationRef: { name: "acme" } };
const cleanup = (name: string) => ({ name: `runs-of-${name}`, cleanup: { policyRef: { name } } });
const specOf = (...destinations: object[]) => ({ destinations }) as unknown as Spec;
const known = { ok: true, message: "all known" } as const;
const missing = { ok: false, reason: "DestinationNotFound", message: "no acme", closed: true } as const;
const has =
  (...names: string[]) =>
  (name: string) =>
    names.includes(name);

describe("what is found of the destinations of a route", () => {
  it("is nothing when none is another object", () => {
    expect(destinationsFinding(specOf(inline), known, has())).toBeUndefined();
  });

  it("is true when every policy and every WebhookDestination is there", () => {
    const spec = specOf(inline, shared, cleanup("a"), cleanup("b"));
    expect(destinationsFinding(spec, known, has("a", "b"))).toMatchObject({ status: "True", reason: "Reconciled" });
    expect(destinationsFinding(specOf(cleanup("a")), known, has("a"))).toMatchObject({ status: "True" });
  });

  it("names the policies that are missing, each once, and what helps", () => {
    expect(destinationsFinding(specOf(cleanup("a"), cleanup("b"), cleanup("b")), known, has("a"))).toEqual({
      status: "False",
      reason: "CleanupPolicyNotFound",
      message:
        "no CleanupPolicy b in this namespace: create it, or correct cleanup.policyRef. Events wait for it as long as they are retried",
    });
  });

  it("tells a WebhookDestination that is missing first, and the policy as well", () => {
    const finding = destinationsFinding(specOf(shared, cleanup("a")), missing, has());
    expect(finding).toMatchObject({ status: "False", reason: "DestinationNotFound" });
    expect(finding?.message).toMatch(/^no acme; no CleanupPolicy a /);
    expect(destinationsFinding(specOf(shared, cleanup("a")), known, has())).toMatchObject({
      reason: "CleanupPolicyNotFound",
    });
  });
});

describe("a route names a policy", () => {
  it("by any of its destinations, and by nothing else", () => {
    expect(namesPolicy(specOf(inline, cleanup("a"), cleanup("b")), "b")).toBe(true);
    expect(namesPolicy(specOf(inline, shared, cleanup("a")), "acme")).toBe(false);
    expect(namesPolicy({ destinationSelector: { matchLabels: {} } }, "a")).toBe(false);
  });
});
