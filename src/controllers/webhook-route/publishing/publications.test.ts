import { describe, expect, test } from "vitest";
import type { Secret } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import { published } from "../../../routes/publication.ts";
import { entryOf, inputOf } from "../../../routes/testing.ts";
import { draftEntry } from "../route/draft.ts";
import { claimIn, entrySecret, Publications, readEntrySecret } from "./publications.ts";

const ENTRY = { ...entryOf(), seq: 5_000 };
const PLACE = "hooks.example.com /shop/orders";

/** The entry Secret of a route as a newer version would write it. */
function ofNewerVersion(): Live<Secret> {
  const target = { instance: "default", namespace: "davit-routes", name: "davit-route-1", route: "shop/orders" };
  const publication = { ...published(ENTRY), minReader: 99 };
  const { metadata, ...secret } = entrySecret({ ...target, namespaceUid: "a-namespace-uid" }, publication);
  return { ...secret, metadata: { ...metadata, uid: "u", resourceVersion: "1" } };
}

describe("a publication that only a newer version can read", () => {
  test("is the claim on its place all the same", () => {
    const publications = new Publications();
    publications.put(readEntrySecret(ofNewerVersion()));
    const [secret] = publications.at(PLACE);
    expect(secret && claimIn(secret)).toEqual({
      namespace: "shop",
      name: "orders",
      host: "hooks.example.com",
      path: "/shop/orders",
    });
  });

  test("is one that the next stamp is above", () => {
    const publications = new Publications();
    publications.put(readEntrySecret(ofNewerVersion()));
    expect(publications.highestSeq).toBe(5_000);
  });
});

describe("an entry Secret whose labels somebody took away", () => {
  const secretWith = (labels: Record<string, string> | undefined, instance = "default"): Live<Secret> => {
    const target = { instance, namespace: "davit-routes", name: "davit-route-1", route: "shop/orders" };
    const { metadata, ...secret } = entrySecret({ ...target, namespaceUid: "a-namespace-uid" }, published(ENTRY));
    const all = labels === undefined ? {} : { labels };
    return { ...secret, metadata: { ...metadata, ...all, uid: "u", resourceVersion: "1" } };
  };
  const input = { ...inputOf(), signingKeys: [] };

  test("is written again, as gateways do not find it", () => {
    expect(draftEntry(input, readEntrySecret(secretWith(undefined)))).toMatchObject({ differs: false });
    expect(draftEntry(input, readEntrySecret(secretWith({})))).toMatchObject({ differs: true });
    expect(draftEntry(input, readEntrySecret(secretWith(undefined, "other")))).toMatchObject({ differs: true });
  });
});
