import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { KubeAuth } from "../../../src/kube/auth.ts";
import { NAMESPACES } from "../../../src/kube/core-types.ts";
import { groupVersionPath, type ResourceType } from "../../../src/kube/resource-type.ts";
import { Faults, suffer, type Asked } from "./faults.ts";
import type { Sent, StoredObject } from "./object.ts";
import { isSelected } from "./selectors.ts";
import { gone, notFound, StatusError } from "./status-error.ts";
import { collectionOf, FakeStore, type Place } from "./store.ts";
import { Watches } from "./watches.ts";

const RESOURCE =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?<status>\/status)?$/;
const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

const STRANGER = "stranger";

interface Request {
  readonly url: URL;
  readonly asked: Asked;
  readonly place: Place;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * A small Kubernetes API server on 127.0.0.1 with faults on demand. It passes the conformance suite that the real one passes, and does what the real one
 * cannot be made to do at will. No validation, no RBAC but {@link forbid}, no garbage collection.
 */
export class FakeApiServer {
  readonly store = new FakeStore();
  readonly watches = new Watches(this.store);
  readonly faults = new Faults();
  /** Every request, in order. */
  readonly requests: Asked[] = [];
  /** `resourceVersion` of every watch that was asked for. */
  readonly watchedFrom: string[] = [];
  /** Connections that were made, ever. */
  connections = 0;
  /** What it says at `/version`. */
  version = { major: "1", minor: "34+", gitVersion: "v1.34.0-fake" };
  /** The bearer token that is accepted. */
  token = "first";
  /** How a watch from a forgotten version is refused: both happen in reality. */
  goneAs: "status" | "event" = "event";
  readonly #types = new Map<string, ResourceType>();
  readonly #forbidden: ((asked: Asked) => boolean)[] = [];
  readonly #pages = new Map<string, { readonly rest: readonly StoredObject[]; readonly version: number }>();
  readonly #server: Server;
  #tokens = 0;
  #unfreeze: (() => void) | undefined;

  constructor(types: readonly ResourceType[]) {
    for (const type of types) this.serve(type);
    this.#server = createServer((request, response) => void this.#handle(request, response));
    this.#server.on("connection", () => {
      this.connections += 1;
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Credentials that are accepted as long as {@link token} does not change. */
  auth(): KubeAuth {
    const { token, url } = this;
    return {
      server: url,
      credentials: () => Promise.resolve({ headers: { authorization: `Bearer ${token}` }, tls: {} }),
      refresh: () => undefined,
      user: () => "tester",
    };
  }

  /** Credentials that are accepted, for everything forbidden. */
  strangerAuth(): KubeAuth {
    const headers = { authorization: `Bearer ${STRANGER}` };
    return { ...this.auth(), credentials: () => Promise.resolve({ headers, tls: {} }) };
  }

  /** Makes a namespace. @returns its name */
  addNamespace(name: string): string {
    const { group, version, plural, kind } = NAMESPACES;
    this.store.create({ group, version, plural, kind, namespace: undefined, name, isStatus: false }, {}, "fake");
    return name;
  }

  /** From now on nothing answers and no watch says anything, with all connections open. */
  freeze(): void {
    this.watches.silence();
    this.#unfreeze = this.faults.plan({ silent: true }, () => true, Number.POSITIVE_INFINITY);
  }

  /** New requests are answered again; what was asked meanwhile never is. */
  thaw(): void {
    this.#unfreeze?.();
  }

  /** Breaks all connections. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  serve(type: ResourceType): void {
    this.#types.set(collectionOf(type), type);
  }

  /** From now on there is no such kind. */
  unserve(type: ResourceType): void {
    this.#types.delete(collectionOf(type));
  }

  /** Answers 403 to these. @returns allows them again */
  forbid(meant: (asked: Asked) => boolean): () => void {
    this.#forbidden.push(meant);
    return () => this.#forbidden.splice(this.#forbidden.indexOf(meant), 1);
  }

  /** Forgets old versions and half-read lists. */
  compact(): void {
    this.store.compact();
    this.#pages.clear();
  }

  /** Tells the watches the newest version. */
  bookmark(kind = "Bookmark"): void {
    this.store.version += 1;
    const metadata = { resourceVersion: String(this.store.version) };
    this.watches.bookmark(JSON.stringify({ type: "BOOKMARK", object: { kind, metadata } }));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("content-type", "application/json");
    try {
      const url = new URL(request.url ?? "/", this.url);
      const [asked, place] = this.#read(request.method ?? "GET", url);
      this.requests.push(asked);
      const { authorization } = request.headers;
      if (authorization === `Bearer ${STRANGER}`) throw forbidden(asked);
      if (authorization !== `Bearer ${this.token}`) throw new StatusError(401, "Unauthorized", "Unauthorized");
      if (this.#forbidden.some((meant) => meant(asked))) throw forbidden(asked);
      const fault = this.faults.take(asked);
      if (fault && (await suffer(fault, request, response))) return;
      if (!place) return this.#answer(response, this.#discover(url.pathname));
      if (asked.verb === "list") return this.#list({ url, asked, place, request, response });
      if (asked.verb === "watch") return this.#watch({ url, asked, place, request, response });
      const body = (await bodyOf(request)) as Sent;
      this.#answer(response, this.#carryOut({ url, asked, place, request, response }, body), asked.verb);
    } catch (error) {
      this.#refuse(response, error);
    }
  }

  #read(method: string, url: URL): [Asked, Place | undefined] {
    const parts = RESOURCE.exec(url.pathname)?.groups;
    const type = parts && this.#types.get(`${parts["plural"]}.${parts["group"] ?? ""}`);
    const name = parts?.["name"];
    const reading = url.searchParams.get("watch") === "true" ? "watch" : name === undefined ? "list" : "get";
    const asked = {
      verb: VERBS[method] ?? reading,
      plural: parts?.["plural"] ?? url.pathname,
      namespace: parts?.["namespace"],
      name,
    };
    if (!parts || parts["version"] === undefined) return [asked, undefined];
    if (!type) throw new Unserved();
    const { namespace } = asked;
    return [asked, { ...type, namespace, name: name ?? "", isStatus: parts["status"] !== undefined }];
  }

  #discover(path: string): object {
    if (path === "/version") return this.version;
    const types = [...this.#types.values()].filter((type) => groupVersionPath(type) === path);
    if (types.length === 0) throw new Unserved();
    return { kind: "APIResourceList", resources: types.map(({ plural, kind }) => ({ name: plural, kind })) };
  }

  #list({ url, place, response }: Request): void {
    const limit = Number(url.searchParams.get("limit") ?? 0) || Number.POSITIVE_INFINITY;
    const token = url.searchParams.get("continue");
    const page = token === null ? this.#snapshot(url, place) : this.#pages.get(token);
    if (!page) throw gone();
    const rest = page.rest.slice(limit);
    const next = rest.length > 0 ? `page-${++this.#tokens}` : undefined;
    if (next !== undefined) this.#pages.set(next, { ...page, rest });
    this.#answer(response, {
      kind: `${place.kind}List`,
      metadata: { resourceVersion: String(page.version), ...(next === undefined ? {} : { continue: next }) },
      items: page.rest.slice(0, limit).map(({ kind: _kind, apiVersion: _version, ...item }) => item),
    });
  }

  #snapshot(url: URL, place: Place) {
    const { labelSelector, fieldSelector } = selectorsOf(url);
    const rest = this.store.list(place).filter((object) => isSelected(object, labelSelector, fieldSelector));
    return { rest, version: this.store.version };
  }

  #watch({ url, place, response }: Request): void {
    const from = url.searchParams.get("resourceVersion") ?? "";
    this.watchedFrom.push(from);
    const { labelSelector, fieldSelector } = selectorsOf(url);
    const subject = {
      collection: collectionOf(place),
      namespace: place.namespace,
      wantsBookmarks: url.searchParams.get("allowWatchBookmarks") === "true",
      isSelected: (object: StoredObject) => isSelected(object, labelSelector, fieldSelector),
    };
    try {
      this.watches.open(response, subject, this.store.since(Number(from)));
    } catch (error) {
      if (!(error instanceof StatusError) || this.goneAs === "status") throw error;
      response.end(`${JSON.stringify({ type: "ERROR", object: error.body })}\n`);
    }
  }

  #carryOut({ url, asked, place, request }: Request, body: Sent): object {
    const manager = url.searchParams.get("fieldManager") ?? "unknown";
    switch (asked.verb) {
      case "get":
        return this.store.get(place);
      case "create": {
        this.#needsNamespace(place);
        return this.store.create({ ...place, name: body.metadata?.name ?? "" }, body, manager);
      }
      case "update":
        return this.store.update(place, body, manager);
      case "delete":
        return this.store.delete(place, body["preconditions"] ?? {});
      default:
        if (request.headers["content-type"] !== "application/apply-patch+yaml") {
          return this.store.merge(place, body, manager);
        }
        this.#needsNamespace(place);
        return this.store.apply(place, body, { manager, force: url.searchParams.get("force") === "true" });
    }
  }

  #needsNamespace({ namespace }: Place): void {
    if (namespace === undefined) return;
    const all = this.store.list({ group: "", plural: "namespaces", namespace: undefined });
    if (!all.some(({ metadata }) => metadata.name === namespace)) throw notFound(`namespaces "${namespace}"`);
  }

  #answer(response: ServerResponse, body: object, verb = "get"): void {
    response.statusCode = verb === "create" ? 201 : 200;
    response.end(JSON.stringify(body));
  }

  #refuse(response: ServerResponse, error: unknown): void {
    if (error instanceof StatusError) {
      response.statusCode = error.status;
      response.end(JSON.stringify(error.body));
      return;
    }
    response.statusCode = error instanceof Unserved ? 404 : 500;
    response.setHeader("content-type", "text/plain");
    response.end(error instanceof Unserved ? "404 page not found\n" : String(error));
  }
}

class Unserved extends Error {}

function selectorsOf(url: URL) {
  return {
    labelSelector: url.searchParams.get("labelSelector"),
    fieldSelector: url.searchParams.get("fieldSelector"),
  };
}

function forbidden({ verb, plural, namespace }: Asked): StatusError {
  const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const message = `${plural} is forbidden: User "tester" cannot ${verb} resource "${plural}" ${where}`;
  return new StatusError(403, "Forbidden", message);
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? {} : JSON.parse(text);
}

/** Starts one that serves these kinds. */
export function startFakeApiServer(types: readonly ResourceType[]): Promise<FakeApiServer> {
  return new FakeApiServer(types).start();
}
