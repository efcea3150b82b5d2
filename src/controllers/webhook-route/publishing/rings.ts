import {
  COMPONENT_LABEL,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  signingRingSecretName,
} from "../../../api/names.ts";
import type { Secret } from "../../../kube/core-types.ts";
import { isAlreadyExists, isConflict } from "../../../kube/errors.ts";
import type { Live } from "../../../kube/objects.ts";
import type { ResourceClient } from "../../../kube/resource-client.ts";
import { fieldOf } from "../../../lib/record.ts";
import type { RingKey } from "../../../routes/entry.ts";
import { FreshStore } from "../../publishing/fresh-store.ts";

/** Newest schema of a ring Secret that this version reads and the one it writes. */
const RING_SCHEMA = 1;
/** Key of a ring Secret's `data`: JSON of `{schema, minReader, keys}`. */
const RING_KEY = "ring.json";
/** Type of the Secrets that hold the rings of outgoing signing keys. */
const RING_SECRET_TYPE = "davit.dev/ring";

/** A signing key of a tenant: an entry of a Secret in its namespace. */
export interface SigningKeyRef {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** One ring Secret, read. */
export interface RingSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly keys: readonly RingKey[];
  /** Written for a newer reader: left alone. */
  readonly tooNew: boolean;
}

/** It lies in a tenant's namespace, so what is in it may be anything. */
function isRingKey(value: unknown): value is RingKey {
  const isTyped = (type: string) => (name: string) => typeof fieldOf(value, name) === type;
  const notAfter = typeof fieldOf(value, "notAfter");
  return (
    ["id", "use", "state", "value"].every(isTyped("string")) &&
    isTyped("number")("since") &&
    (notAfter === "undefined" || notAfter === "number")
  );
}

/** Reads a ring Secret. Never throws: what cannot be read counts as a ring without keys. */
export function readRingSecret(secret: Live<Secret>): RingSecret {
  const { name, namespace = "", uid, resourceVersion } = secret.metadata;
  const value = parse(Buffer.from(secret.data?.[RING_KEY] ?? "", "base64").toString("utf8"));
  const keys = fieldOf(value, "keys");
  const minReader = fieldOf(value, "minReader");
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    keys: Array.isArray(keys) ? keys.filter(isRingKey) : [],
    tooNew: typeof minReader === "number" && minReader > RING_SCHEMA,
  };
}

export interface SigningRingsOptions {
  readonly secrets: Pick<ResourceClient<Secret>, "create" | "update" | "find" | "delete">;
  readonly instance: string;
}

/**
 * The rings of the keys that deliveries are signed with: one Secret a key, in the key's own namespace. They are state, as the previous keys live
 * nowhere else, so they are only written over the version they were read at.
 */
export class SigningRings {
  readonly #options: SigningRingsOptions;
  readonly #store = new FreshStore<RingSecret>();
  readonly #listeners: ((namespace: string, name: string) => void)[] = [];

  constructor(options: SigningRingsOptions) {
    this.#options = options;
  }

  /** Hears that a ring changed, in the cluster or by {@link keep}. */
  onChange(listener: (namespace: string, name: string) => void): void {
    this.#listeners.push(listener);
  }

  /** What the watch shows. @returns whether it is news */
  put(ring: RingSecret): boolean {
    const isNews = this.#store.put(`${ring.namespace}/${ring.name}`, ring);
    if (isNews) this.#tell(ring);
    return isNews;
  }

  /** The watch shows that it is gone. @returns whether it is news */
  gone(ring: Pick<RingSecret, "namespace" | "name" | "resourceVersion">): boolean {
    const isNews = this.#store.gone(`${ring.namespace}/${ring.name}`, ring.resourceVersion);
    if (isNews) this.#tell(ring);
    return isNews;
  }

  #tell({ namespace, name }: Pick<RingSecret, "namespace" | "name">): void {
    for (const listener of this.#listeners) listener(namespace, name);
  }

  all(): IterableIterator<RingSecret> {
    return this.#store.values();
  }

  get(ref: SigningKeyRef): RingSecret | undefined {
    return this.#store.get(this.#keyOf(ref));
  }

  /** Name of a key's ring Secret. */
  nameOf({ namespace, name, key }: SigningKeyRef): string {
    return signingRingSecretName(this.#options.instance, namespace, name, key);
  }

  /**
   * Keeps a ring, over the version {@link get} returned.
   * @returns whether something was written
   * @throws KubeApiError `Conflict` when somebody else wrote meanwhile; the newest state is known then
   */
  async keep(ref: SigningKeyRef, keys: readonly RingKey[]): Promise<boolean> {
    const before = this.get(ref);
    if (before?.tooNew || JSON.stringify(before?.keys ?? []) === JSON.stringify(keys)) return false;
    const { secrets } = this.#options;
    try {
      const object = this.#secret(ref, keys, before);
      const written = before === undefined ? await secrets.create(object) : await secrets.update(object);
      this.put({ ...readRingSecret(written), keys });
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) await this.#reread(ref);
      throw error;
    }
  }

  /** Deletes a ring in the version that is known. */
  async remove(ring: RingSecret): Promise<void> {
    const { namespace, name, uid, resourceVersion } = ring;
    await this.#options.secrets.delete({ namespace, name }, { uid, resourceVersion });
    this.#store.drop(`${namespace}/${name}`);
  }

  async #reread(ref: SigningKeyRef): Promise<void> {
    const live = await this.#options.secrets.find({ namespace: ref.namespace, name: this.nameOf(ref) });
    if (live === undefined) this.#store.drop(this.#keyOf(ref));
    else this.put(readRingSecret(live));
  }

  #keyOf(ref: SigningKeyRef): string {
    return `${ref.namespace}/${this.nameOf(ref)}`;
  }

  #secret(ref: SigningKeyRef, keys: readonly RingKey[], before: RingSecret | undefined): Secret {
    const ring = { schema: RING_SCHEMA, minReader: 1, keys };
    return {
      metadata: {
        name: this.nameOf(ref),
        namespace: ref.namespace,
        labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: this.#options.instance, [COMPONENT_LABEL]: "ring" },
        ...(before === undefined ? {} : { uid: before.uid, resourceVersion: before.resourceVersion }),
      },
      type: RING_SECRET_TYPE,
      data: { [RING_KEY]: Buffer.from(JSON.stringify(ring)).toString("base64") },
    };
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
