import { stringify } from "yaml";
import {
  type DestinationManifest,
  formatManifestProblem,
  type ManifestProblem,
  type Manifests,
  type PolicyManifest,
  type RouteManifest,
} from "../api/manifests.ts";
import { observeKeys } from "../routes/observed-keys.ts";
import { type Command, parse, UsageError } from "./command.ts";
import { idConflicts } from "./id-conflicts.ts";
import { loadManifests } from "./manifest-files.ts";
import { placeConflicts } from "./place-conflicts.ts";

const usage = `davit validate -f FILE|DIR [-f …] [--previous FILE|DIR] [--effective]

Checks WebhookRoutes, WebhookDestinations, CleanupPolicies, CleanupRuns and Secrets without a cluster, with the schema and the rules the API server uses and the checks of the controller.
Other kinds are passed over. Problems go to stderr, one a line; a warning refuses nothing.

  -f, --file FILE|DIR  manifests: YAML with any number of documents, or JSON; of a directory the files in it; repeat it
  --previous FILE|DIR  the manifests these replace, for the rules about changes
  --effective          print each spec with every default filled in`;

/** `davit validate`: exits 0 when nothing is refused, 1 on problems. */
export const command: Command = {
  name: "validate",
  summary: "check manifests without a cluster",
  usage,
  async run(argv, io) {
    const { values } = parse(argv, {
      file: { type: "string", short: "f", multiple: true },
      previous: { type: "string", multiple: true },
      effective: { type: "boolean" },
    });
    if (values.file === undefined) throw new UsageError("name the manifests with -f FILE or -f DIR");
    const { previous } = values;
    const manifests = await loadManifests(values.file, previous === undefined ? {} : { previous });
    const problems = [
      ...manifests.problems,
      ...placeConflicts(manifests.routes),
      ...idConflicts(manifests.destinations),
      ...keyWarnings(manifests),
      ...referenceWarnings(manifests),
    ];
    for (const problem of problems) io.stderr.write(`${formatManifestProblem(problem)}\n`);
    if (values.effective) for (const text of effective(manifests)) io.stdout.write(text);
    const refused = problems.filter(({ problem }) => problem.severity === "error").length;
    if (refused === 0 && !values.effective) io.stdout.write(`${summary(manifests)} valid\n`);
    return refused === 0 ? 0 : 1;
  },
};

function effective({ routes, destinations, policies }: Manifests): string[] {
  return [...routes.map(effectiveYaml), ...destinations.map(effectiveDestination), ...policies.map(effectivePolicy)];
}

function summary({ routes, destinations, policies, runs }: Manifests): string {
  const others = { destination: destinations, policy: policies, run: runs };
  const named = Object.entries(others).filter(([, { length }]) => length > 0);
  return [`${routes.length} route(s)`, ...named.map(([name, { length }]) => `${length} ${name}(s)`)].join(" and ");
}

/** Secrets among the manifests that lack the key a route takes from them. One that is not among them may be in the cluster. */
function keyWarnings({ routes, secrets }: Manifests): ManifestProblem[] {
  return routes.flatMap(({ file, kind, namespace, name, spec }) => {
    const inNamespace = secrets.get(namespace) ?? new Map<string, never>();
    const read = { basic: spec.verification.basic !== undefined, now: Date.now() };
    return observeKeys(spec.secretRefs, inNamespace, read)
      .unresolved.filter(({ reason }) => reason !== "SecretNotFound")
      .map(({ path, message }) => {
        const problem = { path, message, source: "semantic", severity: "warning" } as const;
        return { file, kind, namespace, name, problem };
      });
  });
}

/** What a route names and no manifest has. It may be in the cluster. */
function referenceWarnings({ routes, destinations, policies }: Manifests): ManifestProblem[] {
  const known = { WebhookDestination: namesOf(destinations), CleanupPolicy: namesOf(policies) };
  return routes.flatMap(({ spec, file, kind: routeKind, namespace, name }) =>
    spec.destinations.flatMap(({ destinationRef, cleanup }, index) =>
      [
        { kind: "WebhookDestination" as const, field: "destinationRef", named: destinationRef?.name },
        { kind: "CleanupPolicy" as const, field: "cleanup.policyRef", named: cleanup?.policyRef.name },
      ].flatMap(({ kind, field, named }) => {
        if (named === undefined || known[kind].has(`${namespace}/${named}`)) return [];
        const problem = {
          path: `spec.destinations[${index}].${field}`,
          message: `no manifest here has a ${kind} ${named} in namespace ${namespace}: ${WITHOUT[kind]}`,
          source: "semantic",
          severity: "warning",
        } as const;
        return [{ file, kind: routeKind, namespace, name, problem }];
      }),
    ),
  );
}

const WITHOUT = {
  WebhookDestination: "without it the route's events are answered 503",
  CleanupPolicy: "without it no run is made, and the route's events are tried again",
} as const;

function namesOf(manifests: readonly { readonly namespace: string; readonly name: string }[]): ReadonlySet<string> {
  return new Set(manifests.map(({ namespace, name }) => `${namespace}/${name}`));
}

function effectiveYaml({ namespace, name, spec }: RouteManifest): string {
  const isClockLeftOut = spec.verification.tolerance === undefined;
  const clock = isClockLeftOut
    ? "\n# verification: without a tolerance the sender's time is not held against the clock"
    : "";
  const title = `# ${namespace}/${name} with every default filled in; each destination shows its own delivery${clock}`;
  return `---\n${title}\n${stringify({ spec }, { aliasDuplicateObjects: false })}`;
}

function effectiveDestination({ namespace, name, spec }: DestinationManifest): string {
  const title = `# ${namespace}/${name} with every default filled in; the delivery of an event's route fills what is absent`;
  return `---\n${title}\n${stringify({ spec }, { aliasDuplicateObjects: false })}`;
}

function effectivePolicy({ namespace, name, spec }: PolicyManifest): string {
  return `---\n# ${namespace}/${name} with every default filled in\n${stringify({ spec }, { aliasDuplicateObjects: false })}`;
}
