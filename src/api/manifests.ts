import { LineCounter, parseAllDocuments } from "yaml";
import { fieldOf, isRecord } from "../lib/record.ts";
import type { ResolvedCleanupPolicySpec } from "./cleanup-policy-defaults.ts";
import { validateCleanupPolicy, validateCleanupRun } from "./cleanup-policy-validation.ts";
import { CRD_FILES } from "./crd.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";
import type { ResolvedWebhookDestinationSpec } from "./destination-defaults.ts";
import { validateDestination } from "./destination-validation.ts";
import type { CleanupPolicy } from "./generated/cleanup-policy.ts";
import type { CleanupRun } from "./generated/cleanup-run.ts";
import type { WebhookDestination } from "./generated/webhook-destination.ts";
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

export interface DestinationManifest extends ObjectRef {
  readonly destination: WebhookDestination;
  readonly spec: ResolvedWebhookDestinationSpec;
}

export interface PolicyManifest extends ObjectRef {
  readonly policy: CleanupPolicy;
  readonly spec: ResolvedCleanupPolicySpec;
}

export interface RunManifest extends ObjectRef {
  readonly run: CleanupRun;
}

export interface ManifestProblem extends ObjectRef {
  readonly problem: Problem;
}

export interface Manifests {
  /** Routes that nothing refuses. */
  readonly routes: readonly RouteManifest[];
  /** WebhookDestinations that nothing refuses. */
  readonly destinations: readonly DestinationManifest[];
  /** CleanupPolicies that nothing refuses. */
  readonly policies: readonly PolicyManifest[];
  /** CleanupRuns that nothing refuses. */
  readonly runs: readonly RunManifest[];
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
 * Reads objects of our kinds, and Secrets, out of manifests and checks them. Objects of other API groups are passed over, so that a directory may hold a whole
 * application; an unknown kind of ours is a problem.
 */
export function parseManifests(sources: readonly ManifestSource[], options: ParseOptions = {}): Manifests {
  const namespace = options.namespace ?? "default";
  const { documents, problems } = readDocuments(sources, namespace);
  const previous = new Map(
    readDocuments(options.previous ?? [], namespace).documents.map((document) => [idOf(document), document.object]),
  );
  const found: Found = { routes: [], destinations: [], policies: [], runs: [], secrets: new Map() };
  const seen = new Map<string, string>();
  for (const document of documents) {
    const first = seen.get(idOf(document));
    const repeated = first === undefined ? [] : [manifestProblem(`is also in ${first}: keep one`)];
    seen.set(idOf(document), document.file);
    const all = [...repeated, ...take(document, found, { namespace, previous: previous.get(idOf(document)) })];
    problems.push(...all.map((problem) => ({ ...refOf(document), problem })));
  }
  return { ...found, problems };
}

interface Found {
  readonly routes: RouteManifest[];
  readonly destinations: DestinationManifest[];
  readonly policies: PolicyManifest[];
  readonly runs: RunManifest[];
  readonly secrets: Map<string, Map<string, SecretObject>>;
}

interface TakeOptions {
  readonly namespace: string;
  readonly previous: unknown;
}

/** Checks an object and keeps it where its kind belongs, unless something refuses it. */
function take(document: Document, found: Found, options: TakeOptions): readonly Problem[] {
  const taker = Object.hasOwn(TAKERS, document.kind)
    ? TAKERS[document.kind as keyof typeof TAKERS]
    : TAKERS.WebhookRoute;
  return taker(document, found, options);
}

type Taker = (document: Document, found: Found, options: TakeOptions) => readonly Problem[];

/** An unknown kind of ours is taken for a route, which says what was expected. */
const TAKERS = {
  Secret: ({ object }, { secrets }, { namespace }) => {
    const { secret, problems } = readSecret(object, namespace);
    if (secret !== undefined) put(secrets, secret);
    return problems;
  },
  WebhookRoute: (document, { routes }, { previous }) => {
    const { route, spec, problems } = validateRoute(document.object, { previous });
    if (route !== undefined && spec !== undefined) routes.push({ ...refOf(document), route, spec });
    return problems;
  },
  WebhookDestination: (document, { destinations }, { previous }) => {
    const { destination, spec, problems } = validateDestination(document.object, { previous });
    if (destination !== undefined && spec !== undefined) destinations.push({ ...refOf(document), destination, spec });
    return problems;
  },
  CleanupPolicy: (document, { policies }, { previous }) => {
    const { policy, spec, problems } = validateCleanupPolicy(document.object, { previous });
    if (policy !== undefined && spec !== undefined) policies.push({ ...refOf(document), policy, spec });
    return problems;
  },
  CleanupRun: (document, { runs }, { previous }) => {
    const { run, problems } = validateCleanupRun(document.object, { previous });
    if (run !== undefined) runs.push({ ...refOf(document), run });
    return problems;
  },
} as const satisfies Readonly<Record<string, Taker>>;

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
  const isOurs = apiVersion.startsWith("davit.dev/") || Object.hasOwn(CRD_FILES, kind);
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
