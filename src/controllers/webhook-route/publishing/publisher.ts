import { ENTRY_SECRET_TYPE } from "../../../api/names.ts";
import type { Secret } from "../../../kube/core-types.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../../kube/errors.ts";
import type { ResourceClient } from "../../../kube/resource-client.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Publication } from "../../../routes/publication.ts";
import {
  type EntrySecret,
  entrySecret,
  type Publications,
  readEntrySecret,
  writtenEntrySecret,
} from "./publications.ts";

export interface PublisherOptions {
  readonly secrets: Pick<ResourceClient<Secret>, "create" | "update" | "find" | "delete" | "pages">;
  readonly publications: Publications;
  readonly clock: Clock;
  readonly instance: string;
  /** `<release>-routes`. */
  readonly namespace: string;
}

/** For whom an entry Secret is written. */
export interface PublicationTarget {
  /** Name of the Secret. */
  readonly name: string;
  /** `namespace/name` of the route. */
  readonly route: string;
  readonly namespaceUid: string;
}

/**
 * What is to be published over what is published now; called again with a fresh reading when that was out of date.
 * @param published as the API server had it last; `undefined`: nothing
 * @param seq the stamp to use
 * @returns `undefined`: leave it as it is
 */
export type Draft = (published: EntrySecret | undefined, seq: number) => Publication | undefined;

/** A write lost against others this often in a row: then the key comes back later. */
const MAX_ATTEMPTS = 5;

/** An entry Secret kept changing under the publisher's hands. Tried again later. */
export class PublishConflictError extends Error {
  readonly code = "PublishConflict";
}

/**
 * Writes entry Secrets, one after the other: each write is over before the next begins, so that gateways see `seq` in order and may conclude
 * from a high one that they have seen the lower ones.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  #tail: Promise<unknown> = Promise.resolve();
  /** Highest `seq` given out. */
  #last = 0;
  #hasLooked = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /**
   * Publishes what `draft` says, in turn.
   * @returns whether something was written
   * @throws as every write; PublishConflictError
   */
  publish(target: PublicationTarget, draft: Draft): Promise<boolean> {
    return this.#inTurn(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const published = this.#options.publications.get(target.name);
        const seq = this.#nextSeq();
        const publication = draft(published, seq);
        if (publication === undefined) return false;
        if (await this.#write(target, published, publication)) {
          this.#last = seq;
          return true;
        }
      }
      throw new PublishConflictError(`${target.name} was changed by others ${MAX_ATTEMPTS} times in a row`);
    });
  }

  /**
   * Deletes an entry Secret, in turn.
   * @param isOver asked with the newest reading
   */
  remove(name: string, isOver: (published: EntrySecret) => boolean): Promise<boolean> {
    return this.#inTurn(async () => {
      const { publications, secrets, namespace } = this.#options;
      const published = publications.get(name);
      if (published === undefined || !isOver(published)) return false;
      const { uid, resourceVersion } = published;
      try {
        await secrets.delete({ namespace, name }, { uid, resourceVersion });
      } catch (error) {
        if (!isConflict(error)) throw error;
        await this.#reread(name);
        throw new PublishConflictError(`${name} was changed by others while it was to be deleted`);
      }
      publications.drop(name);
      return true;
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(async () => {
      await this.#lookOnce();
      return work();
    });
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /**
   * The watch may lag behind what the last leader wrote: before the first stamp of this one all publications are read once, so that its `seq`
   * grows over all of them whatever the clocks say.
   */
  async #lookOnce(): Promise<void> {
    if (this.#hasLooked) return;
    const { secrets, namespace, publications } = this.#options;
    const fieldSelector = `type=${ENTRY_SECRET_TYPE}`;
    for await (const page of secrets.pages(namespace, { fieldSelector, pageSize: 100 })) {
      for (const secret of page.items) publications.put(readEntrySecret(secret));
    }
    this.#hasLooked = true;
  }

  #nextSeq(): number {
    const { clock, publications } = this.#options;
    return Math.max(Math.max(this.#last, publications.highestSeq) + 1, clock.now());
  }

  /** @returns whether it was written; if not, the newest state is known now */
  async #write(
    target: PublicationTarget,
    published: EntrySecret | undefined,
    publication: Publication,
  ): Promise<boolean> {
    const { secrets, publications, instance, namespace } = this.#options;
    const object = entrySecret({ ...target, instance, namespace }, publication);
    try {
      const written =
        published === undefined
          ? await secrets.create(object)
          : await secrets.update({
              ...object,
              metadata: { ...object.metadata, uid: published.uid, resourceVersion: published.resourceVersion },
            });
      publications.put(writtenEntrySecret(written, publication));
      return true;
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !(published !== undefined && isNotFound(error))) throw error;
      await this.#reread(target.name);
      return false;
    }
  }

  async #reread(name: string): Promise<void> {
    const { secrets, publications, namespace } = this.#options;
    const live = await secrets.find({ namespace, name });
    if (live === undefined) publications.drop(name);
    else publications.put(readEntrySecret(live));
  }
}
