import { isNotFound } from "./errors.ts";
import type { Fence } from "./fence.ts";
import type { KubeObject, Live, ObjectRef } from "./objects.ts";
import { apiVersionOf, collectionPath, objectPath, type ResourceType, type Subresource } from "./resource-type.ts";
import type { Call, KubeTransport } from "./transport.ts";

/** For every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** What a list leaves out. Selectors in Kubernetes' own notation. */
export interface Selection {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Only `metadata` of each object crosses the network: the contents of Secrets stay where they are. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ListOptions extends CallOptions, Selection {
  /** Objects a page, default 500. */
  readonly pageSize?: number;
}

/** Everything a list found, at one version. */
export interface ObjectList<T extends KubeObject> {
  readonly items: readonly Live<T>[];
  readonly resourceVersion: string;
}

/** The server refuses the write (409) unless the live object has these. */
export interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface WriteOptions extends CallOptions {
  /** The server checks and admits it, but stores nothing. */
  readonly dryRun?: boolean;
}

/**
 * Server-side apply. With `uid` it only ever changes that object and creates none; with `resourceVersion` as well, only in that version. Either failing is
 * a `Conflict`. A `resourceVersion` alone would not keep the server from creating the object anew, so it needs `uid`.
 */
export interface ApplyOptions extends WriteOptions, Preconditions {
  /** Who owns the fields; one fixed name a controller. */
  readonly fieldManager: string;
  /** Take over fields that others own. Default false: their fields make it a 409. */
  readonly force?: boolean;
}

export interface PatchOptions extends WriteOptions {
  readonly subresource?: Subresource;
}

export interface DeleteOptions extends WriteOptions, Preconditions {
  /** What becomes of its dependents; default the server's, for most kinds `Background`. */
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
}

/** What apply takes: the fields that this manager wants, and no others. */
export type Applied<T extends KubeObject> = Omit<Partial<T>, "metadata"> & Pick<T, "metadata">;

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches */
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/** The same for a watch. */
export const METADATA_WATCH = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

interface Page<T extends KubeObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items?: readonly Live<T>[];
}

/**
 * The calls for one kind. All reject with {@link KubeApiError}, `KubeConnectionError`, `KubeConfigError` or `NotLeaderError` (see transport.ts).
 * A list's items come without `apiVersion` and `kind` from the server; they are filled in.
 */
export class ResourceClient<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly #transport: KubeTransport;
  readonly #fence: Fence | undefined;

  constructor(transport: KubeTransport, type: ResourceType<T>, fence?: Fence) {
    this.type = type;
    this.#transport = transport;
    this.#fence = fence;
  }

  get(ref: ObjectRef, options: CallOptions = {}): Promise<Live<T>> {
    return this.#transport.json({ method: "GET", path: objectPath(this.type, ref), ...common(options) });
  }

  /** {@link get}, with `undefined` for an object that does not exist. */
  async find(ref: ObjectRef, options: CallOptions = {}): Promise<Live<T> | undefined> {
    try {
      return await this.get(ref, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Everything in one namespace, or in all (`undefined`), page by page. */
  async list(namespace: string | undefined, options: ListOptions = {}): Promise<ObjectList<T>> {
    const items: Live<T>[] = [];
    let resourceVersion = "";
    for await (const page of this.pages(namespace, options)) {
      items.push(...page.items);
      resourceVersion = page.resourceVersion;
    }
    return { items, resourceVersion };
  }

  /** The pages of {@link list}. A page may fail with `Gone` when the server compacted meanwhile: begin anew. */
  async *pages(namespace: string | undefined, options: ListOptions = {}): AsyncGenerator<ObjectList<T>> {
    const { labelSelector, fieldSelector, metadataOnly, pageSize = 500 } = options;
    const type = { apiVersion: apiVersionOf(this.type), kind: this.type.kind };
    let token: string | undefined;
    do {
      // oxlint-disable-next-line no-await-in-loop -- each page names the next
      const page: Page<T> = await this.#transport.json({
        method: "GET",
        path: collectionPath(this.type, namespace),
        query: { limit: String(pageSize), continue: token, labelSelector, fieldSelector },
        accept: metadataOnly ? METADATA_LIST : undefined,
        ...common(options),
      });
      const items = (page.items ?? []).map((item) => ({ ...type, ...item }));
      yield { items, resourceVersion: page.metadata.resourceVersion };
      token = page.metadata.continue;
    } while (token);
  }

  create(object: T, options: WriteOptions = {}): Promise<Live<T>> {
    const path = collectionPath(this.type, object.metadata.namespace);
    return this.#write({ method: "POST", path, body: this.#typed(object), query: dryRun(options) }, options);
  }

  /**
   * Replaces the whole object.
   * @throws TypeError without `metadata.resourceVersion`: it would overwrite what others wrote
   */
  async update(object: T, options: PatchOptions = {}): Promise<Live<T>> {
    const { name, resourceVersion } = object.metadata;
    if (!resourceVersion) throw new TypeError(`update of ${this.type.kind} ${name} without metadata.resourceVersion`);
    const path = objectPath(this.type, object.metadata, options.subresource);
    return this.#write({ method: "PUT", path, body: this.#typed(object), query: dryRun(options) }, options);
  }

  /** Server-side apply: creates the object, or makes these fields of it so. */
  apply(object: Applied<T>, options: ApplyOptions): Promise<Live<T>> {
    return this.#apply(object, options);
  }

  /** Server-side apply of `status`, which must be the only field beside `metadata`. */
  applyStatus(object: Applied<T>, options: ApplyOptions): Promise<Live<T>> {
    return this.#apply(object, options, "status");
  }

  /** JSON merge patch (RFC 7386): `null` removes a field, lists are replaced. `preconditions` make it a 409 on any other version or object. */
  mergePatch(
    ref: ObjectRef,
    patch: Readonly<Record<string, unknown>>,
    preconditions: Preconditions,
    options: PatchOptions = {},
  ): Promise<Live<T>> {
    const metadata = { ...(patch["metadata"] as object | undefined), ...only(preconditions) };
    return this.#write(
      {
        method: "PATCH",
        path: objectPath(this.type, ref, options.subresource),
        contentType: "application/merge-patch+json",
        body: { ...patch, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) },
        query: dryRun(options),
      },
      options,
    );
  }

  /** Deletes the object. @returns whether there was one */
  async delete(ref: ObjectRef, options: DeleteOptions = {}): Promise<boolean> {
    const preconditions = only(options);
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(Object.keys(preconditions).length > 0 ? { preconditions } : {}),
      ...(options.propagationPolicy ? { propagationPolicy: options.propagationPolicy } : {}),
      ...(options.dryRun ? { dryRun: ["All"] } : {}),
    };
    try {
      await this.#write({ method: "DELETE", path: objectPath(this.type, ref), body }, options);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #apply(object: Applied<T>, options: ApplyOptions, subresource?: Subresource): Promise<Live<T>> {
    const { uid, resourceVersion, fieldManager, force } = options;
    if (resourceVersion !== undefined && uid === undefined) throw new TypeError("apply with resourceVersion needs uid");
    const metadata = { ...object.metadata, ...only(options) };
    return this.#write(
      {
        method: "PATCH",
        path: objectPath(this.type, object.metadata, subresource),
        contentType: "application/apply-patch+yaml", // JSON is YAML
        body: this.#typed({ ...object, metadata }),
        query: { fieldManager, force: force ? "true" : undefined, ...dryRun(options) },
      },
      options,
    );
  }

  #typed(object: Applied<T>): object {
    return { ...object, apiVersion: apiVersionOf(this.type), kind: this.type.kind };
  }

  #write<R>(call: Call, options: CallOptions): Promise<R> {
    return this.#transport.json({ ...call, ...common(options), fence: this.#fence });
  }
}

function common({ signal, timeoutMs }: CallOptions): Pick<Call, "signal" | "timeoutMs"> {
  return { signal, timeoutMs };
}

function dryRun(options: WriteOptions): { readonly dryRun: string | undefined } {
  return { dryRun: options.dryRun ? "All" : undefined };
}

/** Just the two, whatever else the value carries: a caller may pass an object's `metadata`. */
function only({ uid, resourceVersion }: Preconditions): Preconditions {
  return { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) };
}
