import { ENTRY_SECRET_TYPE } from "../../../api/names.ts";
import type { Publication } from "../../../routes/publication.ts";
import { type DraftOf, Publisher, type PublisherOptions } from "../../publishing/publisher.ts";
import {
  type EntrySecret,
  entrySecret,
  type Publications,
  readEntrySecret,
  writtenEntrySecret,
} from "./publications.ts";

/** For whom an entry Secret is written. */
export interface PublicationTarget {
  /** Name of the Secret. */
  readonly name: string;
  /** `namespace/name` of the route. */
  readonly route: string;
  readonly namespaceUid: string;
}

/** See {@link DraftOf}. */
export type Draft = DraftOf<EntrySecret, Publication>;

/** Writes entry Secrets. */
export type RoutePublisher = Publisher<PublicationTarget, EntrySecret, Publication>;

export interface RoutePublisherOptions
  extends Pick<PublisherOptions<PublicationTarget, EntrySecret, Publication>, "secrets" | "stamps"> {
  readonly publications: Publications;
  readonly instance: string;
  /** `<release>-routes`. */
  readonly namespace: string;
}

/** A publisher of routes. */
export function routePublisher(options: RoutePublisherOptions): RoutePublisher {
  const { secrets, stamps, publications, instance, namespace } = options;
  return new Publisher({
    secrets,
    stamps,
    kind: {
      namespace,
      secretType: ENTRY_SECRET_TYPE,
      known: publications,
      object: (target, publication) => entrySecret({ ...target, instance, namespace }, publication),
      read: readEntrySecret,
      written: writtenEntrySecret,
    },
  });
}
