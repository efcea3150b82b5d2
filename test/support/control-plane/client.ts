import { Agent, request } from "undici";

/** What the API server answered; `body` is parsed when it is JSON, and the text otherwise. */
export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** An object as far as everything has it. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
    finalizers?: string[];
    ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into objects of every kind
  [field: string]: any;
}

/** A refusal, as `must` throws it. */
export class KubeRequestError extends Error {
  readonly code = "KubeRequestFailed";
  readonly status: number;
  /** `reason` of the Status object, e.g. `NotFound`. */
  readonly reason: string | undefined;

  constructor(what: string, status: number, body: unknown) {
    const { reason, message } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
    super(`${what}: ${status} ${typeof message === "string" ? message : JSON.stringify(body)}`);
    this.status = status;
    this.reason = typeof reason === "string" ? reason : undefined;
  }
}

/** Credentials of a client. */
export type Credentials = { readonly token: string } | { readonly certificate: string; readonly key: string };

/** Content types of PATCH. */
export const PATCH = {
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
} as const;

/** Requests to the API server as one user, for tests: no retry, no cache, 30 s at most. */
export class KubeClient {
  readonly #agent: Agent;
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, ca: string, credentials: Credentials) {
    this.#url = url;
    this.#headers = "token" in credentials ? { authorization: `Bearer ${credentials.token}` } : {};
    const client = "token" in credentials ? {} : { cert: credentials.certificate, key: credentials.key };
    this.#agent = new Agent({ connect: { ca, ...client }, connections: 16, headersTimeout: 30_000 });
  }

  /**
   * One request. Refusals are answers as well.
   * @param path with its query, e.g. `/api/v1/namespaces/default/pods?limit=10`
   * @param contentType for PATCH one of `PATCH`; default JSON
   * @throws when there is no answer
   */
  async request<T = KubeObject>(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    contentType = "application/json",
  ): Promise<Answer<T>> {
    const answer = await request(`${this.#url}${path}`, {
      dispatcher: this.#agent,
      method,
      headers: {
        ...this.#headers,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": contentType }),
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const isJson = String(answer.headers["content-type"]).includes("json");
    return { status: answer.statusCode, body: (isJson ? JSON.parse(text) : text) as T };
  }

  /** As `request`, with the body alone. @throws KubeRequestError when the status is 400 or more */
  async must<T = KubeObject>(...args: Parameters<KubeClient["request"]>): Promise<T> {
    const { status, body } = await this.request<T>(...args);
    if (status >= 400) throw new KubeRequestError(`${args[0]} ${args[1]}`, status, body);
    return body;
  }

  get<T = KubeObject>(path: string): Promise<T> {
    return this.must("GET", path);
  }

  /** Objects of a list. */
  async list<T = KubeObject>(path: string): Promise<T[]> {
    return (await this.must<{ items: T[] }>("GET", path)).items;
  }

  /** @param path of the collection */
  create<T = KubeObject>(path: string, object: object): Promise<T> {
    return this.must("POST", path, object);
  }

  /** Merge patch (RFC 7386). @param path of the object, or its `/status` */
  patch<T = KubeObject>(path: string, change: object): Promise<T> {
    return this.must("PATCH", path, change, PATCH.merge);
  }

  /** Server-side apply, forced, as field manager `test`. @param path of the object */
  apply<T = KubeObject>(path: string, object: object): Promise<T> {
    const query = `${path.includes("?") ? "&" : "?"}fieldManager=test&force=true`;
    return this.must("PATCH", path + query, object, PATCH.apply);
  }

  /** Deletes an object, or a collection. @param options DeleteOptions, e.g. `{ propagationPolicy: "Foreground" }` */
  delete(path: string, options: object = {}): Promise<KubeObject> {
    return this.must("DELETE", path, options);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
