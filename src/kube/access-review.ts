import { hash } from "node:crypto";
import { BoundedMap } from "../lib/bounded-map.ts";
import { fieldOf, isRecord } from "../lib/record.ts";
import { Semaphore } from "../lib/semaphore.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import { KubeApiError } from "./errors.ts";
import type { KubeTransport } from "./transport.ts";

/** How long a token that the API server knows is believed, ms; never beyond its own end. */
const KNOWN_MS = 60_000;
/** How long a token that it refused is refused without asking, ms. */
const REFUSED_MS = 10_000;
/** How long a decision counts, also a refusal, ms: a right that was taken away ends within this time. */
const DECIDED_MS = 10_000;
const MAX_TOKENS = 4_096;
const MAX_DECISIONS = 16_384;
/** Reviews under way at a time, and waiting for that: a flood of invented tokens must not become one at the API server. */
const MAX_ASKING = 16;
const MAX_WAITING = 256;
const TIMEOUT_MS = 5_000;

const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Who a token belongs to, as the API server says. */
export interface ReviewedUser {
  /** `system:serviceaccount:NAMESPACE:NAME` of a service account. */
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What somebody wants to do, in the words of RBAC. */
export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace: string;
  readonly name: string;
}

/** The API server could not be asked, or gave no usable answer: nobody may be let in. `Busy`: too many wait for an answer already. */
export class ReviewError extends Error {
  override readonly name = "ReviewError";
  readonly code: "Busy" | "Unanswered";

  constructor(code: ReviewError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What {@link AccessReviews} needs. */
export interface AccessReviewOptions {
  readonly transport: Pick<KubeTransport, "json">;
  /** Tokens must be made for this audience. */
  readonly audience: string;
  readonly timers?: Timers;
}

interface Kept<T> {
  readonly value: T;
  /** ms of the monotonic clock. */
  readonly until: number;
}

/**
 * Asks the API server who a bearer token belongs to (TokenReview) and what they may do (SubjectAccessReview). Answers are kept for a short time, under the
 * hash of the token. Sources: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/ and …/authorization-resources/.
 */
export class AccessReviews {
  readonly #options: AccessReviewOptions;
  readonly #timers: Timers;
  readonly #asking = new Semaphore(MAX_ASKING, MAX_WAITING);
  readonly #known = new BoundedMap<string, Kept<ReviewedUser>>(MAX_TOKENS);
  /** Apart from the known ones, so that invented tokens push none of them out. */
  readonly #refused = new BoundedMap<string, Kept<undefined>>(MAX_TOKENS);
  readonly #decided = new BoundedMap<string, Kept<boolean>>(MAX_DECISIONS);
  /** Questions that wait for their answer, so that none is asked twice at a time. */
  readonly #open = new Map<string, Promise<unknown>>();

  constructor(options: AccessReviewOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
  }

  /**
   * @returns whose token it is; `undefined` when the API server does not know it, it has expired or it is made for another audience
   * @throws ReviewError
   */
  async authenticate(token: string): Promise<ReviewedUser | undefined> {
    const key = hash("sha256", token, "hex");
    const now = this.#timers.monotonic();
    const known = this.#known.get(key) ?? this.#refused.get(key);
    if (known && now < known.until) return known.value;
    return this.#once(`token ${key}`, async () => {
      const user = await this.#review(token);
      if (user === undefined) {
        this.#known.delete(key);
        this.#refused.set(key, { value: user, until: now + REFUSED_MS });
      } else this.#known.set(key, { value: user, until: now + Math.min(KNOWN_MS, this.#lifeOf(token)) });
      return user;
    });
  }

  /**
   * @returns whether the authoriser allows it
   * @throws ReviewError
   */
  async isAllowed(user: ReviewedUser, attributes: ResourceAttributes): Promise<boolean> {
    const key = hash("sha256", JSON.stringify([user, attributes]), "hex");
    const now = this.#timers.monotonic();
    const known = this.#decided.get(key);
    if (known && now < known.until) return known.value;
    return this.#once(`access ${key}`, async () => {
      const value = await this.#decide(user, attributes);
      this.#decided.set(key, { value, until: now + DECIDED_MS });
      return value;
    });
  }

  async #review(token: string): Promise<ReviewedUser | undefined> {
    const { audience } = this.#options;
    const status = await this.#ask(TOKEN_REVIEWS, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, audiences: [audience] },
    });
    return reviewedUser(status, audience);
  }

  async #decide({ username, uid, groups, extra }: ReviewedUser, attributes: ResourceAttributes): Promise<boolean> {
    const status = await this.#ask(ACCESS_REVIEWS, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: username, uid, groups, extra, resourceAttributes: attributes },
    });
    return isAllowedBy(status);
  }

  async #ask(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const { transport } = this.#options;
    let answer: unknown;
    try {
      answer = await this.#asking.run(() =>
        transport.json<object>({ method: "POST", path, body, timeoutMs: TIMEOUT_MS }),
      );
    } catch (cause) {
      throw new ReviewError("Unanswered", `the API server could not be asked: ${whyOf(cause)}`);
    }
    if (answer === undefined) throw new ReviewError("Busy", "too many wait for the API server's answer already");
    const status = fieldOf(answer, "status");
    if (!isRecord(status)) throw new ReviewError("Unanswered", "the API server's answer holds no status");
    return status;
  }

  async #once<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const open = this.#open.get(key);
    if (open) return open as Promise<T>;
    const asked = ask().finally(() => this.#open.delete(key));
    this.#open.set(key, asked);
    return asked;
  }

  /** ms until the end that a JWT names (RFC 7519 §4.1.4); unbounded for any other token. Only asked of tokens that the API server knows. */
  #lifeOf(token: string): number {
    const expires = claimOf(token, "exp");
    return typeof expires === "number" ? Math.max(0, expires * 1_000 - this.#timers.now()) : Infinity;
  }
}

/**
 * Reads the status of a TokenReview. A server that does not know audiences accepts any token and names none: such an answer is no proof.
 *
 * @returns whose token it is; `undefined` when it must not be believed
 */
export function reviewedUser(
  { authenticated, user, audiences }: Readonly<Record<string, unknown>>,
  audience: string,
): ReviewedUser | undefined {
  if (authenticated !== true || !Array.isArray(audiences) || !audiences.includes(audience)) return undefined;
  const username = fieldOf(user, "username");
  if (typeof username !== "string" || username === "") return undefined;
  const { uid, groups = [], extra } = user as Partial<ReviewedUser>;
  return { username, groups, ...(uid !== undefined && { uid }), ...(extra && { extra }) };
}

/** Reads the status of a SubjectAccessReview. */
export function isAllowedBy({ allowed, denied }: Readonly<Record<string, unknown>>): boolean {
  return allowed === true && denied !== true;
}

/** What the server says of a review may quote it, and a token with it: only a missing right is worth its words. */
function whyOf(cause: unknown): string {
  if (cause instanceof KubeApiError)
    return cause.code === "Forbidden" ? cause.message : `${cause.status} ${cause.code}`;
  return cause instanceof Error ? cause.message : String(cause);
}

function claimOf(token: string, name: string): unknown {
  try {
    return fieldOf(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")), name);
  } catch {
    return undefined;
  }
}
