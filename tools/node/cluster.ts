import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { HelmPrograms } from "../helm/helm.ts";

const run = promisify(execFile);

/** kubectl and helm as the administrator of a cluster. */
export class ClusterCommands {
  readonly #programs: HelmPrograms;
  readonly #kubeconfig: string;

  constructor(programs: HelmPrograms, kubeconfig: string) {
    this.#programs = programs;
    this.#kubeconfig = kubeconfig;
  }

  /** @returns what it prints. @throws Error with what it says on stderr */
  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.#run(this.#programs.kubectl, args, input);
  }

  /** As {@link ClusterCommands.kubectl}. */
  helm(args: readonly string[]): Promise<string> {
    return this.#run(this.#programs.helm, args);
  }

  /** Applies objects; strict, so that a mistyped field is an error. */
  async apply(...objects: readonly object[]): Promise<void> {
    const list = { apiVersion: "v1", kind: "List", items: objects };
    await this.kubectl(["apply", "--validate=strict", "-f", "-"], JSON.stringify(list));
  }

  /** An object as JSON. */
  async get<T>(namespace: string, kind: string, name: string): Promise<T> {
    return JSON.parse(await this.kubectl(["-n", namespace, "get", kind, name, "-o", "json"])) as T;
  }

  async #run(program: string, args: readonly string[], input?: string): Promise<string> {
    const env = { ...process.env, KUBECONFIG: this.#kubeconfig };
    const running = run(program, args, { env, maxBuffer: 64 * 1_048_576 });
    running.child.stdin?.end(input ?? "");
    try {
      return (await running).stdout;
    } catch (error) {
      const { stderr } = error as { stderr?: string };
      throw new Error(
        `${program.split("/").at(-1)} ${args.slice(0, 4).join(" ")} …: ${stderr?.trim() || String(error)}`,
        {
          cause: error,
        },
      );
    }
  }
}
