import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { secretsOf } from "../../routes/testing.ts";
import type { RingKey } from "../../routes/entry.ts";
import { type DestinationInput, heldEntry, planDestination, saysTheSame } from "./plan.ts";
import { destinationOf, publishedOf } from "./testing.ts";

const USABLE = { "davit.dev/use": "true" };
const SIGNING = { scheme: "StandardWebhooks", secretRef: { name: "out", key: "key" } } as const;

function planOf(more: Partial<DestinationInput> = {}) {
  const plan = planDestination({
    destination: destinationOf("acme", { signing: SIGNING }),
    secrets: secretsOf({ out: { key: "one" } }, USABLE),
    ringOf: () => [],
    overlapOf: () => 1_000,
    releaseKey: Buffer.from("release key"),
    now: 1_000_000,
    ...more,
  });
  if (!plan.ok) throw new Error("not accepted");
  return plan;
}

describe("what is published of a WebhookDestination", () => {
  test("says which id it holds and who it is, and nothing of its keys", () => {
    const { publication, entry } = planOf({
      destination: destinationOf("acme", { id: "a b", concurrency: 4, suspend: true }),
    });
    expect(publication).toMatchObject({
      id: "a b",
      destination: "~a%20b",
      uid: "uid of acme",
      limit: 4,
      suspended: true,
      tokenHashes: [],
    });
    expect(entry).not.toHaveProperty("seq");
    expect(JSON.stringify(planOf().publication)).not.toContain(Buffer.from("one").toString("base64"));
  });

  test("differs when a key or a secret header does, and not for another release's word of the same", () => {
    const before = planOf().publication;
    const kept = planOf().ring?.keys ?? [];
    expect(saysTheSame({ ...before, seq: 5 }, planOf().publication)).toBe(true);
    const secrets = secretsOf({ out: { key: "two" } }, USABLE);
    expect(saysTheSame({ ...before, seq: 5 }, planOf({ secrets, ringOf: () => kept }).publication)).toBe(false);
    expect(planOf({ releaseKey: Buffer.from("another") }).publication.digest).not.toBe(before.digest);
  });
});

test("labels are for workers, and no reason to publish it anew", () => {
  const labelled = {
    ...destinationOf("acme"),
    metadata: { ...destinationOf("acme").metadata, labels: { tier: "gold" } },
  };
  const [plain, gold] = [planOf({ destination: destinationOf("acme") }), planOf({ destination: labelled })];
  expect([plain, gold].map(({ entry }) => entry.labels)).toEqual([{}, { tier: "gold" }]);
  expect(saysTheSame({ ...plain.publication, seq: 5 }, gold.publication)).toBe(true);
});

describe("a signing key that changes", () => {
  test("stays beside the new one for the overlap, at whose end the destination is looked at again", () => {
    const ring: readonly RingKey[] = planOf().ring?.keys ?? [];
    const secrets = secretsOf({ out: { key: "two" } }, USABLE);
    const plan = planOf({ secrets, ringOf: () => ring });
    expect(plan.entry.signing?.keys.map(({ state }) => state)).toEqual(["current", "previous"]);
    expect(plan.ring).toEqual({ ref: SIGNING.secretRef, keys: plan.entry.signing?.keys });
    expect(plan.nextChangeAt).toBe(1_001_000);
  });

  test("whose Secret is missing or may not be used is named, and nothing is sent", () => {
    const missing = planOf({ secrets: new Map() });
    expect(missing.unresolved).toMatchObject([{ path: "spec.signing.secretRef", reason: "SecretNotFound" }]);
    const unlabelled = planOf({ secrets: secretsOf({ out: { key: "one" } }) });
    expect(unlabelled.unresolved).toMatchObject([{ reason: "SecretNotLabelled" }]);
  });
});

test("the token of its holder is published as its hash; one that is missing stops no delivery", () => {
  const destination = destinationOf("acme", { access: { tokenSecretRef: { name: "access", key: "token" } } });
  const { publication } = planOf({
    destination,
    secrets: secretsOf({ access: { token: "a-secret-of-22-letters\n" } }, USABLE),
  });
  expect(publication.tokenHashes).toEqual([hash("sha256", "a-secret-of-22-letters")]);
  const missing = planOf({ destination, secrets: new Map() });
  expect(missing.publication.tokenHashes).toEqual([]);
  expect(missing.unresolved).toMatchObject([{ path: "spec.access.tokenSecretRef", reason: "SecretNotFound" }]);
  expect(missing.entry.incomplete).toBeUndefined();
});

test("one that cannot be compiled any more is held back under its id and stamp", () => {
  const { publication } = publishedOf(destinationOf("acme"));
  if (publication === undefined) throw new Error("not published");
  expect(heldEntry(publication)).toMatchObject({ id: "~acme", seq: 1_000, suspended: true, incomplete: ["spec"] });
  expect(planDestination({ ...INVALID })).toMatchObject({ ok: false });
});

const INVALID: DestinationInput = {
  destination: destinationOf("acme", { url: "ftp://nowhere" }),
  secrets: new Map(),
  ringOf: () => [],
  overlapOf: () => 0,
  releaseKey: Buffer.alloc(0),
  now: 0,
};
