import { describe, expect, test } from "vitest";
import { published } from "../../../routes/publication.ts";
import { entryOf, inputOf, secretsOf } from "../../../routes/testing.ts";
import { closed } from "../../../routes/compile.ts";
import { type DraftInput, draftEntry } from "./draft.ts";
import { servedSecret } from "../testing.ts";

const inputWith = (value: string, more: Partial<DraftInput> = {}): DraftInput => ({
  ...inputOf({ secrets: secretsOf({ github: { secret: value } }) }),
  signingKeys: [],
  now: 2_000_000,
  ...more,
});
const states = (input: DraftInput, secret = servedSecret(entryOf())) => {
  const drafted = draftEntry(input, secret);
  return drafted.ok ? drafted.entry.keys.map(({ state }) => state) : [];
};

describe("a drafted entry", () => {
  test("differs from what is published only when it says something else", () => {
    expect(draftEntry(inputWith("first secret"), servedSecret(entryOf()))).toMatchObject({ differs: false });
    expect(draftEntry(inputWith("another"), servedSecret(entryOf()))).toMatchObject({ differs: true });
    expect(draftEntry(inputWith("first secret"), undefined)).toMatchObject({ differs: true });
  });

  test("keeps the previous key, and ends it when it is revoked", () => {
    expect(states(inputWith("another"))).toEqual(["current", "previous"]);
    const rotated = draftEntry(inputWith("another"), servedSecret(entryOf()));
    if (!rotated.ok) throw new Error("not accepted");
    const revokeAt = "2026-01-01T00:00:00Z";
    const revoked = draftEntry(inputWith("another", { revokeAt }), servedSecret(rotated.entry));
    expect(revoked).toMatchObject({ differs: true, entry: { keys: [{ state: "current" }], revokedAt: revokeAt } });
  });

  test("carries a command to revoke out once, whether or not the status says so already", () => {
    const rotated = draftEntry(inputWith("another"), servedSecret(entryOf()));
    if (!rotated.ok) throw new Error("not accepted");
    const done = servedSecret({ ...rotated.entry, revokedAt: "2026-01-01T00:00:00Z" });
    expect(states(inputWith("another", { revokeAt: "2026-01-01T00:00:00Z" }), done)).toEqual(["current", "previous"]);
    expect(draftEntry(inputWith("another"), done)).toMatchObject({ differs: false });
    expect(states(inputWith("another", { revokeAt: "2026-01-02T00:00:00Z" }), done)).toEqual(["current"]);
  });

  test("takes no key from a namespace of the same name that was deleted", () => {
    const earlier = { ...servedSecret(entryOf()), namespaceUid: "an earlier namespace" };
    expect(states(inputWith("another"), earlier)).toEqual(["current"]);
  });

  test("takes no key from a claim that was let go", () => {
    const { seq, ...place } = entryOf();
    const gone = {
      ...servedSecret(entryOf()),
      publication: { ...published(entryOf()), entry: undefined, released: { ...place, releasedAt: 1 } },
    };
    expect(states(inputWith("another"), gone as never)).toEqual(["current"]);
    expect(seq).toBe(0);
  });
});

test("a closed entry takes nothing in, and goes on or stays as it was with its deliveries", () => {
  const suspended = (suspend: "None" | "Ingest" | "Delivery" | "All") => closed({ ...entryOf(), suspend }).suspend;
  expect((["None", "Ingest", "Delivery", "All"] as const).map(suspended)).toEqual(["Ingest", "Ingest", "All", "All"]);
});
