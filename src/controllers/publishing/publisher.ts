import type { Secret } from "../../kube/core-types.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import type { Live } from "../../kube/objects.ts";
import type { ResourceClient } from "../../kube/resource-client.ts";
import type { Stamps } from "./stamps.ts";

/** A Secret that publishes something, read. */
export interface PublishedSecret {
  /** Name of the Secret. */
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** One kind of publications: where they lie, what is known of them, and how they are written as Secrets. */
export interface PublicationKind<Target, Read extends PublishedSecret, Publication> {
  /** Namespace of the Secrets. */
  readonly namespace: string;
  /** `type` of the Secrets. */
  readonly secretType: string;
  readonly known: {
    readonly highestSeq: number;
    get(name: string): Read | undefined;
    put(secret: Read): void;
    drop(name: string): void;
  };
  /** The Secret that says a publication. */
  readonly object: (target: Target, publication: Publication) => Secret;
  /** Never throws. */
  readonly read: (secret: Live<Secret>) => Read;
  /** What `read` would make of a Secret that was just written. */
  readonly written: (secret: Live<Secret>, publication: Publication) => Read;
}

export interface PublisherOptions<Target, Read extends PublishedSecret, Publication> {
  readonly secrets: Pick<ResourceClient<Secret>, "create" | "update" | "find" | "delete" | "pages">;
  /** Shared by all publishers of a release. */
  readonly stamps: Stamps;
  readonly kind: PublicationKind<Target, Read, Publication>;
}

/**
 * What is to be published over what is published now; called again with a fresh reading when that was out of date.
 * @param published as the API server had it last; `undefined`: nothing
 * @param seq the stamp to use
 * @returns `undefined`: leave it as it is
 */
export type DraftOf<Read, Publication> = (published: Read | undefined, seq: number) => Publication | undefined;

/** A write lost against others this often in a row: then the key comes back later. */
const MAX_ATTEMPTS = 5;

/** A Secret kept changing under the publisher's hands. Tried again later. */
export class PublishConflictError extends Error {
  readonly code = "PublishConflict";
}

/** Writes the Secrets of one kind of publications, one after the other and in turn with the other kinds. */
export class Publisher<Target extends { readonly name: string }, Read extends PublishedSecret, Publication> {
  readonly #options: PublisherOptions<Target, Read, Publication>;

  constructor(options: PublisherOptions<Target, Read, Publication>) {
    this.#options = options;
    const { known } = options.kind;
    options.stamps.cover({ highestSeq: () => known.highestSeq, look: () => this.#look() });
  }

  /**
   * Publishes what `draft` says, in turn.
   * @returns whether something was written
   * @throws as every write; PublishConflictError
   */
  publish(target: Target, draft: DraftOf<Read, Publication>): Promise<boolean> {
    const { stamps, kind } = this.#options;
    return stamps.inTurn(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const published = kind.known.get(target.name);
        const seq = stamps.next();
        const publication = draft(published, seq);
        if (publication === undefined) return false;
        if (await this.#write(target, published, publication)) {
          stamps.used(seq);
          return true;
        }
      }
      throw new PublishConflictError(`${target.name} was changed by others ${MAX_ATTEMPTS} times in a row`);
    });
  }

  /**
   * Deletes a Secret, in turn.
   * @param isOver asked with the newest reading
   */
  remove(name: string, isOver: (published: Read) => boolean): Promise<boolean> {
    const { stamps, secrets, kind } = this.#options;
    return stamps.inTurn(async () => {
      const published = kind.known.get(name);
      if (published === undefined || !isOver(published)) return false;
      const { uid, resourceVersion } = published;
      try {
        await secrets.delete({ namespace: kind.namespace, name }, { uid, resourceVersion });
      } catch (error) {
        if (!isConflict(error)) throw error;
        await this.#reread(name);
        throw new PublishConflictError(`${name} was changed by others while it was to be deleted`);
      }
      kind.known.drop(name);
      return true;
    });
  }

  async #look(): Promise<void> {
    const { secrets, kind } = this.#options;
    const fieldSelector = `type=${kind.secretType}`;
    for await (const page of secrets.pages(kind.namespace, { fieldSelector, pageSize: 100 })) {
      for (const secret of page.items) kind.known.put(kind.read(secret));
    }
  }

  /** @returns whether it was written; if not, the newest state is known now */
  async #write(target: Target, published: Read | undefined, publication: Publication): Promise<boolean> {
    const { secrets, kind } = this.#options;
    const object = kind.object(target, publication);
    try {
      const written =
        published === undefined
          ? await secrets.create(object)
          : await secrets.update({
              ...object,
              metadata: { ...object.metadata, uid: published.uid, resourceVersion: published.resourceVersion },
            });
      kind.known.put(kind.written(written, publication));
      return true;
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !(published !== undefined && isNotFound(error))) throw error;
      await this.#reread(target.name);
      return false;
    }
  }

  async #reread(name: string): Promise<void> {
    const { secrets, kind } = this.#options;
    const live = await secrets.find({ namespace: kind.namespace, name });
    if (live === undefined) kind.known.drop(name);
    else kind.known.put(kind.read(live));
  }
}
