import type { Secret } from "../lib/secret.ts";
import type { AccessReviews, ResourceAttributes, ReviewedUser } from "./access-review.ts";

/** Somebody whose token is known. */
export interface Caller {
  /** For the audit line: `system:serviceaccount:NAMESPACE:NAME` of a service account. */
  readonly name: string;
  /** @throws what cannot be told; then nothing may be done */
  may(attributes: ResourceAttributes): Promise<boolean>;
}

/** Whom tokens belong to, and what they may do. */
export interface Access {
  /**
   * @returns whose token it is; `undefined` when it is nobody's
   * @throws what cannot be told; then nobody may be let in
   */
  caller(token: string): Promise<Caller | undefined>;
}

/** In a cluster: whoever the API server knows, with what RBAC lets them do. */
export class ClusterAccess implements Access {
  readonly #reviews: Pick<AccessReviews, "authenticate" | "isAllowed">;

  constructor(reviews: Pick<AccessReviews, "authenticate" | "isAllowed">) {
    this.#reviews = reviews;
  }

  async caller(token: string): Promise<Caller | undefined> {
    const user = await this.#reviews.authenticate(token);
    return user && this.#callerOf(user);
  }

  #callerOf(user: ReviewedUser): Caller {
    return { name: user.username, may: (attributes) => this.#reviews.isAllowed(user, attributes) };
  }
}

/** On one machine: one token, which opens everything. */
export class TokenAccess implements Access {
  readonly #token: Secret;
  readonly #name: string;

  /** @param name for the audit line */
  constructor(token: Secret, name: string) {
    this.#token = token;
    this.#name = name;
  }

  async caller(token: string): Promise<Caller | undefined> {
    return this.#token.equals(Buffer.from(token)) ? { name: this.#name, may: async () => true } : undefined;
  }
}
