import type { AccessReviews, ReviewedUser } from "../../kube/access-review.ts";
import { Secret } from "../../lib/secret.ts";

/** A producer whose token is known. */
export interface Producer {
  /** For the audit line: `system:serviceaccount:NAMESPACE:NAME` in a cluster. */
  readonly name: string;
  /** @throws what cannot be told; then nothing is published */
  mayPublish(namespace: string, route: string): Promise<boolean>;
}

/** Who may publish. */
export interface PublishAccess {
  /**
   * @returns whose token it is; `undefined` when it is none
   * @throws what cannot be told; then nothing is published
   */
  producer(token: string): Promise<Producer | undefined>;
}

/** In a cluster: whoever may `create` `webhookroutes/events` of the route, as RBAC says. */
export class ClusterAccess implements PublishAccess {
  readonly #reviews: Pick<AccessReviews, "authenticate" | "isAllowed">;

  constructor(reviews: Pick<AccessReviews, "authenticate" | "isAllowed">) {
    this.#reviews = reviews;
  }

  async producer(token: string): Promise<Producer | undefined> {
    const user = await this.#reviews.authenticate(token);
    return user && this.#producerOf(user);
  }

  #producerOf(user: ReviewedUser): Producer {
    return {
      name: user.username,
      mayPublish: (namespace, name) =>
        this.#reviews.isAllowed(user, {
          verb: "create",
          group: "davit.dev",
          resource: "webhookroutes",
          subresource: "events",
          namespace,
          name,
        }),
    };
  }
}

/** On one machine: one token, which opens every route. */
export class TokenAccess implements PublishAccess {
  readonly #token: Secret;
  readonly #name: string;

  /** @param name for the audit line */
  constructor(token: Secret, name: string) {
    this.#token = token;
    this.#name = name;
  }

  async producer(token: string): Promise<Producer | undefined> {
    if (!this.#token.equals(Buffer.from(token))) return undefined;
    return { name: this.#name, mayPublish: async () => true };
  }
}
