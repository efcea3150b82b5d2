import { entrySecretName } from "../../api/names.ts";
import type { Claim } from "../../routes/claims.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { PUBLICATION_SCHEMA, published } from "../../routes/publication.ts";
import { claimSecretName, type EntrySecret } from "./publishing/publications.ts";

/** The entry Secret of a published route, for tests. */
export function servedSecret(entry: RouteEntry, resourceVersion = "1"): EntrySecret {
  const { namespace, name } = entry;
  return {
    name: entrySecretName("default", namespace, name),
    uid: `uid of ${namespace}/${name}`,
    resourceVersion,
    route: `${namespace}/${name}`,
    namespaceUid: "a-namespace-uid",
    publication: published(entry),
  };
}

/** The Secret of a claim that was let go. */
export function releasedSecret(claim: Required<Claim>, seq = 1): EntrySecret {
  return {
    name: claimSecretName("default", claim),
    uid: `uid of ${claim.namespace}/${claim.name}`,
    resourceVersion: "1",
    route: `${claim.namespace}/${claim.name}`,
    namespaceUid: "a-namespace-uid",
    publication: { schema: PUBLICATION_SCHEMA, minReader: 1, seq, released: claim },
  };
}
