import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { formatManifestProblem, type ManifestProblem, type RouteManifest } from "../api/manifests.ts";
import { type Claimant, resolveClaims } from "../routes/claims.ts";
import { loadManifests, ManifestPathError } from "./manifest-files.ts";

/** What a command may write to. */
interface Output {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

const usage = "davit validate -f FILE|DIR [-f …] [--previous FILE|DIR] [--effective]";

/**
 * Checks manifests without a cluster, with the schema and the rules the API server uses and the checks of the controller. Problems go to
 * stderr, the effective specs to stdout.
 */
export const command = {
  name: "validate",
  summary: "check manifests without a cluster",
  usage,
  /** @returns exit code: 0 when nothing is refused (warnings are shown), 1 on problems, 2 on wrong use */
  async run(argv: string[], io: Output): Promise<number> {
    let options;
    try {
      options = parseOptions(argv);
    } catch (error) {
      io.stderr.write(`${error instanceof Error ? error.message : String(error)}\nusage: ${usage}\n`);
      return 2;
    }
    try {
      return await validate(options, io);
    } catch (error) {
      if (!(error instanceof ManifestPathError)) throw error;
      io.stderr.write(`${error.message}\n`);
      return 2;
    }
  },
};

interface Options {
  readonly files: readonly string[];
  readonly previous: readonly string[] | undefined;
  readonly effective: boolean;
}

/** @throws Error with a line for the user */
function parseOptions(argv: string[]): Options {
  const { values } = parseArgs({
    args: argv,
    options: {
      file: { type: "string", short: "f", multiple: true },
      previous: { type: "string", multiple: true },
      effective: { type: "boolean", default: false },
    },
  });
  if (values.file === undefined) throw new Error("name the manifests with -f FILE or -f DIR");
  return { files: values.file, previous: values.previous, effective: values.effective };
}

async function validate({ files, previous, effective }: Options, io: Output): Promise<number> {
  const manifests = await loadManifests(files, previous === undefined ? {} : { previous });
  const problems = [...manifests.problems, ...conflicts(manifests.routes)];
  for (const problem of problems) io.stderr.write(`${formatManifestProblem(problem)}\n`);
  if (effective) for (const route of manifests.routes) io.stdout.write(effectiveYaml(route));
  const refused = problems.filter(({ problem }) => problem.severity === "error").length;
  if (refused === 0 && !effective) io.stdout.write(`${manifests.routes.length} route(s) valid\n`);
  return refused === 0 ? 0 : 1;
}

/** Routes among the manifests that want the same host and path. */
function conflicts(routes: readonly RouteManifest[]): ManifestProblem[] {
  const byClaimant = new Map<Claimant, RouteManifest>(
    routes.map((manifest) => {
      const { host, path } = manifest.spec.exposure;
      return [{ namespace: manifest.namespace, name: manifest.name, host, path, createdAt: 0 }, manifest];
    }),
  );
  return resolveClaims([...byClaimant.keys()], [], 0).conflicts.flatMap(({ claimant, holder }) => {
    const manifest = byClaimant.get(claimant);
    if (manifest === undefined) return [];
    const { file, kind, namespace, name } = manifest;
    const problem = {
      path: "spec.exposure",
      message: `${claimant.host}${claimant.path} is also wanted by ${holder.namespace}/${holder.name}`,
      remedy: "choose another path",
      source: "semantic",
      severity: "error",
    } as const;
    return [{ file, kind, namespace, name, problem }];
  });
}

function effectiveYaml({ namespace, name, spec }: RouteManifest): string {
  const title = `# ${namespace}/${name} with every default filled in; each destination shows its own delivery`;
  return `---\n${title}\n${stringify({ spec }, { aliasDuplicateObjects: false })}`;
}
