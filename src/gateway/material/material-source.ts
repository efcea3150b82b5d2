import type { X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import { FetchError, type Fetch, type FetchResponse } from "../../egress/guarded-fetch.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import { sha256Parts } from "../../lib/hash.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Material, MaterialRequest } from "../../verification/material.ts";
import { refuse, type Refusal } from "../../verification/refusal.ts";
import type { VerificationKey } from "../../verification/types.ts";
import { checkChain, readCertificate, readCertificates } from "./certificate-chain.ts";
import { FirstFetches } from "./first-fetches.ts";
import { readJsonKey } from "./json-key.ts";

/** Keys that are kept, those that have run out included: it is known that they exist. Forged ids are never among them. */
const KEPT = 2_048;
/** Refusals that are kept. */
const KEPT_REFUSALS = 1_024;
/** From this part of its time on, a key that is asked for is fetched again while it still serves. */
const REFRESH_AT = 0.8;
const CERTIFICATE_MS = 86_400_000;
const JWK_MS = 3_600_000;
const REFUSED_MS = 30_000;
const MAX_BYTES = 65_536;
/** For all that one answer takes, waiting included, ms. */
const TOTAL_MS = 5_000;
const AT_A_TIME = 4;
const MOST_WAITING = 64;
/** Certificates of authorities that are fetched for one chain. */
const MAX_ISSUERS = 2;
const TOLD_EVERY_MS = 60_000;

export interface MaterialSourceOptions {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
  /** PEM. Default: those of Node, which are Mozilla's. */
  readonly roots?: readonly string[];
}

/** For whom something is fetched. */
export interface MaterialRoute {
  /** Route key. */
  readonly route: string;
  /** Address of the client whose request needs it. */
  readonly client: string;
  /** Usable keys with use `ApiCredential`. */
  readonly credentials: readonly VerificationKey[];
}

type Answer = Material | Refusal;

/** Where the public keys and certificates come from that verification asks for. */
export interface MaterialSource {
  /** Never rejects. Refuses with `CertificateUntrusted`, or `MaterialUnavailable` when it is not the sender's fault. */
  obtain(request: MaterialRequest, route: MaterialRoute): Promise<Answer>;
}

/** A key, good for use until `until` (Unix ms). */
interface Kept {
  readonly material: Material;
  readonly refreshAt: number;
  readonly until: number;
}

/**
 * Fetches them, checks them and keeps them for a while. What was fetched before is fetched again ahead of its end, and never has to queue behind names that
 * nobody has seen yet: see {@link FirstFetches} for those.
 */
export class FetchedMaterial implements MaterialSource {
  readonly #options: MaterialSourceOptions;
  readonly #kept = new BoundedMap<string, Kept>(KEPT);
  readonly #refused = new BoundedMap<string, { readonly refusal: Refusal; readonly until: number }>(KEPT_REFUSALS);
  readonly #flying = new Map<string, Promise<Answer>>();
  readonly #first = new FirstFetches();
  readonly #places = { first: new Semaphore(AT_A_TIME, MOST_WAITING), again: new Semaphore(AT_A_TIME, MOST_WAITING) };
  #roots: readonly X509Certificate[] | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: MaterialSourceOptions) {
    this.#options = options;
  }

  async obtain(request: MaterialRequest, route: MaterialRoute): Promise<Answer> {
    // What credentials of a route have fetched is that route's. Hashed: ids come from senders, in any length.
    const key = sha256Parts([request.kind, request.body ? route.route : "", request.id]).toString("base64url");
    const now = this.#options.clock.now();
    const kept = this.#kept.get(key);
    if (!kept || now >= kept.until)
      return this.#refusedAt(key, now) ?? this.#flying.get(key) ?? this.#missing(key, request, route);
    if (now >= kept.refreshAt) this.#refresh(key, request, route);
    return kept.material;
  }

  #missing(key: string, request: MaterialRequest, route: MaterialRoute): Promise<Answer> | Refusal {
    const mayFetch = this.#kept.get(key) || this.#first.admit(key, route, this.#options.clock.monotonic());
    return mayFetch ? this.#fly(key, request, route) : unavailable("too many keys were asked for");
  }

  #refusedAt(key: string, now: number): Refusal | undefined {
    const refused = this.#refused.get(key);
    return refused && now < refused.until ? refused.refusal : undefined;
  }

  #refresh(key: string, request: MaterialRequest, route: MaterialRoute): void {
    if (this.#flying.has(key) || this.#refusedAt(key, this.#options.clock.now())) return;
    this.#fly(key, request, route).catch(() => this.#tell(request.url, "unexpected"));
  }

  #fly(key: string, request: MaterialRequest, route: MaterialRoute): Promise<Answer> {
    const answer = this.#fetched(key, request, route).finally(() => this.#flying.delete(key));
    this.#flying.set(key, answer);
    return answer;
  }

  async #fetched(key: string, request: MaterialRequest, route: MaterialRoute): Promise<Answer> {
    const deadline = this.#options.clock.monotonic() + TOTAL_MS;
    const places = this.#kept.get(key) ? this.#places.again : this.#places.first;
    const answer = await places.run(() => this.#fetch(request, route, deadline));
    if (answer === undefined) return unavailable("too many keys are being fetched");
    const now = this.#options.clock.now();
    if ("ok" in answer) {
      this.#refused.set(key, { refusal: answer, until: now + REFUSED_MS });
      // It is no good any more, though its time is not up.
      if (answer.reason === "CertificateUntrusted") this.#kept.delete(key);
      return answer;
    }
    const longest = now + (request.kind === "jwk" ? JWK_MS : CERTIFICATE_MS);
    const until = Math.min(longest, answer.notAfter ?? longest);
    this.#kept.set(key, { material: answer, refreshAt: now + (until - now) * REFRESH_AT, until });
    return answer;
  }

  async #fetch(request: MaterialRequest, { credentials }: MaterialRoute, deadline: number): Promise<Answer> {
    try {
      if (request.body && credentials.length === 0) return unavailable("no usable key with use ApiCredential");
      const json = request.body?.(credentials);
      const response = await this.#get(request.url, deadline, { json });
      if (response.status !== 200) return this.#statusRefusal(request, response.status);
      return request.kind === "jwk"
        ? this.#jwk(request, response)
        : await this.#certificate(request, response, deadline);
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      return unavailable(`the request for it failed: ${error.code}`);
    }
  }

  async #get(
    url: string,
    deadline: number,
    how: { readonly json?: unknown; readonly plainHttp?: boolean },
  ): Promise<FetchResponse> {
    const timeoutMs = Math.floor(deadline - this.#options.clock.monotonic());
    if (timeoutMs <= 0) throw new FetchError("timeout");
    try {
      return await this.#options.fetch({ url, timeoutMs, maxBytes: MAX_BYTES, ...how });
    } catch (error) {
      if (error instanceof FetchError) this.#tell(url, error.code);
      throw error;
    }
  }

  /** The sender named what the provider does not have; or the provider does not let us ask. */
  #statusRefusal(request: MaterialRequest, status: number): Refusal {
    const unknown = status === 400 || status === 404 || status === 410 || (status === 403 && !request.body);
    if (unknown) return refuse("CertificateUntrusted", `the provider does not know it (status ${status})`);
    this.#tell(request.url, `status ${status}`);
    return unavailable(`the provider answered with status ${status}`);
  }

  #jwk({ id, jwkAt, expiredAt }: MaterialRequest, { body }: FetchResponse): Answer {
    const key = readJsonKey(body, { jwkAt, expiredAt });
    if (!key.ok) {
      if (key.problem === "notJson") return unavailable("the provider's answer is not JSON");
      const weak = key.problem === "weak";
      return refuse(
        "CertificateUntrusted",
        weak ? "the key is too weak or of another kind" : "the answer holds no key",
      );
    }
    const { publicKey, notAfter } = key;
    if (notAfter !== undefined && notAfter <= this.#options.clock.now()) {
      return refuse("CertificateUntrusted", "the key has expired");
    }
    return { id, publicKey, ...(notAfter !== undefined && { notAfter }) };
  }

  /** Some providers leave out the certificates in between (SNS): they are fetched from where the certificate says, and prove themselves by their signature. */
  async #certificate(request: MaterialRequest, { body }: FetchResponse, deadline: number): Promise<Answer> {
    const certificates = [...readCertificates(body.toString("latin1"))];
    for (let issuers = 0; ; issuers++) {
      const { certificateNames: names = [] } = request;
      const result = checkChain({ certificates, names, roots: this.#rootsOf(), now: this.#options.clock.now() });
      if (result.ok) {
        const { publicKey, notBefore, notAfter } = result;
        return { id: request.id, publicKey, notBefore, notAfter };
      }
      if (result.issuerUrl === undefined || issuers === MAX_ISSUERS)
        return refuse("CertificateUntrusted", result.detail);
      // oxlint-disable-next-line no-await-in-loop -- the next one is named in this one
      const issuer = await this.#get(result.issuerUrl, deadline, { plainHttp: true });
      const read = issuer.status === 200 ? readCertificate(issuer.body) : undefined;
      if (read === undefined) return refuse("CertificateUntrusted", result.detail);
      certificates.push(read);
    }
  }

  /** Read when first needed: 150 certificates take some milliseconds. */
  #rootsOf(): readonly X509Certificate[] {
    this.#roots ??= (this.#options.roots ?? rootCertificates).flatMap((pem) => readCertificate(pem) ?? []);
    return this.#roots;
  }

  #tell(url: string, code: string): void {
    const now = this.#options.clock.monotonic();
    if (now < this.#toldAt + TOLD_EVERY_MS) return;
    this.#toldAt = now;
    this.#options.logger.warn(
      { host: URL.parse(url)?.host, code },
      "a sender's public key cannot be fetched, its events get 503: see that this Pod may open connections to that host, ports 443 and 80 (NetworkPolicy, firewall)",
    );
  }
}

function unavailable(detail: string): Refusal {
  return refuse("MaterialUnavailable", detail);
}
