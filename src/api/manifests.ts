import { LineCounter, parseAllDocuments } from "yaml";
import { fieldOf, isRecord } from "../lib/record.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";
import type { WebhookRoute } from "./generated/webhook-route.ts";
import { formatProblem, type Problem } from "./problem.ts";
import { readSecret, type SecretObject } from "./secret.ts";
import { validateRoute } from "./validation.ts";

/** A text with manifests: several YAML documents, or JSON. */
export interface ManifestSource {
  /** As the user wrote the path. */
  readonly file: string;
  readonly text: string;
}

/** Which object of which file. Kind and name are empty where a file is no YAML. */
export interface ObjectRef {
  readonly file: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface RouteManifest extends ObjectRef {
  readonly route: WebhookRoute;
  readonly spec: ResolvedWebhookRouteSpec;
}

export interface ManifestProblem extends ObjectRef {
  readonly problem: Problem;
}

export interface Manifests {
  /** Routes that nothing refuses. */
  readonly routes: readonly RouteManifest[];
  /** By namespace, then name. */
  readonly secrets: ReadonlyMap<string, ReadonlyMap<string, SecretObject>>;
  readonly problems: readonly ManifestProblem[];
}

export interface ParseOptions {
  /** Objects that these replace: rules about changes are then checked too. */
  readonly previous?: readonly ManifestSource[];
  /** Namespace of objects that name none. Default: `default`. */
  readonly namespace?: string;
}

interface Document extends ObjectRef {
  readonly object: unknown;
}

/**
 * Reads WebhookRoutes and Secrets out of manifests and checks them. Objects of other API groups are passed over, so that a directory may hold
 * a whole application; an unknown kind of ours is a problem.
 */
export function parseManifests(sources: readonly ManifestSource[], options: ParseOptions = {}): Manifests {
  const namespace = options.namespace ?? "default";
  const { documents, problems } = readDocuments(sources, namespace);
  const previous = new Map(
    readDocuments(options.previous ?? [], namespace).documents.map((document) => [idOf(document), document.object]),
  );
  const routes: RouteManifest[] = [];
  const secrets = new Map<string, Map<string, SecretObject>>();
  const seen = new Map<string, string>();
  for (const document of documents) {
    const add = (found: readonly Problem[]) =>
      problems.push(...found.map((problem) => ({ ...refOf(document), problem })));
    const first = seen.get(idOf(document));
    if (first !== undefined) add([manifestProblem(`is also in ${first}: keep one`)]);
    seen.set(idOf(document), document.file);
    if (document.kind === "Secret") {
      const { secret, problems: found } = readSecret(document.object, namespace);
      add(found);
      if (secret !== undefined) put(secrets, secret);
      continue;
    }
    const { route, spec, problems: found } = validateRoute(document.object, { previous: previous.get(idOf(document)) });
    add(found);
    if (route !== undefined && spec !== undefined) routes.push({ ...refOf(document), route, spec });
  }
  return { routes, secrets, problems };
}

/** One line: `file: kind ns/name: field: message (remedy)`. */
export function formatManifestProblem({ file, kind, namespace, name, problem }: ManifestProblem): string {
  const object = kind === "" ? "" : `${kind} ${namespace}/${name}: `;
  return `${file}: ${object}${formatProblem(problem)}`;
}

function readDocuments(sources: readonly ManifestSource[], namespace: string) {
  const documents: Document[] = [];
  const problems: ManifestProblem[] = [];
  for (const { file, text } of sources) {
    const lines = new LineCounter();
    for (const document of [parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })].flat()) {
      const errors = document.errors.map((error) => {
        const { line, col } = lines.linePos(error.pos[0]);
        return manifestProblem(`line ${line}, column ${col}: ${error.message}`);
      });
      problems.push(...errors.map((problem) => ({ file, kind: "", namespace: "", name: "", problem })));
      if (errors.length > 0) continue;
      for (const object of flatten(document.toJS())) {
        const found = classify(object, file, namespace);
        if (found !== undefined) documents.push(found);
      }
    }
  }
  return { documents, problems };
}

/** The items of a `kind: List`, as `kubectl get -o yaml` prints several objects. */
function flatten(object: unknown): readonly unknown[] {
  const items = fieldOf(object, "items");
  if (fieldOf(object, "kind") === "List" && Array.isArray(items)) return items.flatMap(flatten);
  return isRecord(object) ? [object] : [];
}

function classify(object: unknown, file: string, defaultNamespace: string): Document | undefined {
  const apiVersion = stringField(object, "apiVersion");
  const kind = stringField(object, "kind");
  const isOurs = apiVersion.startsWith("davit.dev/") || kind === "WebhookRoute";
  if (!isOurs && !(apiVersion === "v1" && kind === "Secret")) return undefined;
  const metadata = fieldOf(object, "metadata");
  const namespace = stringField(metadata, "namespace") || defaultNamespace;
  return { file, kind, namespace, name: stringField(metadata, "name"), object };
}

function stringField(object: unknown, name: string): string {
  const value = fieldOf(object, name);
  return typeof value === "string" ? value : "";
}

function refOf({ file, kind, namespace, name }: Document): ObjectRef {
  return { file, kind, namespace, name };
}

function idOf({ kind, namespace, name }: ObjectRef): string {
  return `${kind} ${namespace}/${name}`;
}

function put(secrets: Map<string, Map<string, SecretObject>>, secret: SecretObject): void {
  const inNamespace = secrets.get(secret.namespace) ?? new Map<string, SecretObject>();
  secrets.set(secret.namespace, inNamespace.set(secret.name, secret));
}

function manifestProblem(message: string): Problem {
  return { path: "", message, source: "manifest", severity: "error" };
}
