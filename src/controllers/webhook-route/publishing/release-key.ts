import { randomBytes } from "node:crypto";
import { COMPONENT_LABEL, INSTANCE_LABEL, MANAGED_BY, MANAGED_BY_LABEL } from "../../../api/names.ts";
import type { Secret } from "../../../kube/core-types.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import type { ResourceClient } from "../../../kube/resource-client.ts";

const KEY = "key";
const BYTES = 32;

/** Name of the Secret with the random key of a release's instance. */
function releaseKeySecretName(instance: string): string {
  return `davit-${instance}-release-key`;
}

/** The release key is there and unusable. */
export class ReleaseKeyError extends Error {
  readonly code = "ReleaseKey";
}

/**
 * The random key that makes the ids of signing keys unguessable. Made once and never overwritten: with another one, every id in status and
 * metrics would change.
 * @throws ReleaseKeyError when the Secret holds no key; as every call
 */
export async function ensureReleaseKey(
  secrets: Pick<ResourceClient<Secret>, "find" | "get" | "create">,
  place: { readonly instance: string; readonly namespace: string },
): Promise<Buffer> {
  const { instance, namespace } = place;
  const name = releaseKeySecretName(instance);
  const found = await secrets.find({ namespace, name });
  if (found !== undefined) return keyOf(found, namespace);
  const metadata = {
    name,
    namespace,
    labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: instance, [COMPONENT_LABEL]: "release-key" },
  };
  const data = { [KEY]: randomBytes(BYTES).toString("base64") };
  try {
    return keyOf(await secrets.create({ metadata, type: "Opaque", data }), namespace);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return keyOf(await secrets.get({ namespace, name }), namespace);
  }
}

function keyOf({ metadata, data }: Secret, namespace: string): Buffer {
  const key = Buffer.from(data?.[KEY] ?? "", "base64");
  if (key.length >= BYTES) return key;
  throw new ReleaseKeyError(
    `Secret ${namespace}/${metadata.name} holds no key of ${BYTES} bytes under "${KEY}": restore it from a backup, or delete it, and a new one is made (ids of keys in status and metrics change then)`,
  );
}
