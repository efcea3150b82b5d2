import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { Cluster, KubeConfig } from "@kubernetes/client-node";
import { fieldOf, isRecord } from "../lib/record.ts";
import type { KubeAuth, KubeCredentials, KubeTls } from "./auth.ts";
import { KubeConfigError } from "./errors.ts";
import { inClusterAuth, runsInCluster } from "./in-cluster.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How a person says which cluster. */
export interface KubeconfigOptions {
  /** `--kubeconfig`. */
  readonly file?: string | undefined;
  /** `--context`; default the file's `current-context`. */
  readonly context?: string | undefined;
  readonly env?: Environment;
}

/**
 * Credentials in the order of controller-runtime: the file given, `$KUBECONFIG`, the pod's own, `~/.kube/config`.
 * @throws KubeConfigError that says what to do
 */
export function findAuth(options: KubeconfigOptions = {}): Promise<KubeAuth> {
  const env = options.env ?? process.env;
  const explicit = options.file ?? options.context ?? env["KUBECONFIG"];
  return !explicit && runsInCluster(env) ? inClusterAuth({ env }) : kubeconfigAuth(options);
}

/**
 * Credentials from kubeconfig files, exec plugins and OIDC included. Loads `@kubernetes/client-node`, which costs 75–94 MB:
 * only the controller and the CLI may call this.
 * @throws KubeConfigError `KubeconfigMissing`, `KubeconfigInvalid`, `ContextUnknown`; its `credentials()` throws `CredentialPluginFailed`
 */
export async function kubeconfigAuth(options: KubeconfigOptions = {}): Promise<KubeAuth> {
  const env = options.env ?? process.env;
  const files = filesOf(options.file, env);
  const { KubeConfig: Config } = await import("@kubernetes/client-node");
  const config = new Config();
  for (const [index, file] of files.entries()) merge(config, file, { next: new Config(), first: index === 0 });
  return new KubeconfigAuth(config, select(config, options.context, files.join(delimiter)));
}

function filesOf(given: string | undefined, env: Environment): readonly string[] {
  const named = given ? [given] : (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  const candidates = named.length > 0 ? named : [join(env["HOME"] ?? homedir(), ".kube", "config")];
  const found = candidates.filter((file) => existsSync(file));
  if (found.length > 0) return found;
  throw new KubeConfigError(
    "KubeconfigMissing",
    `no kubeconfig at ${candidates.join(", ")}: give --kubeconfig FILE or set KUBECONFIG; \`kubectl config view\` shows what kubectl uses`,
  );
}

function merge(config: KubeConfig, file: string, { next, first }: { next: KubeConfig; first: boolean }): void {
  try {
    if (first) return config.loadFromFile(file);
    next.loadFromFile(file);
    config.mergeConfig(next, config.currentContext !== "");
  } catch (error) {
    // The parser's words may quote a line of the file, and lines hold tokens: only its class is told.
    throw new KubeConfigError(
      "KubeconfigInvalid",
      `${file} is no usable kubeconfig (${causeOf(error)}): \`kubectl config view --kubeconfig ${file}\` shows where`,
    );
  }
}

interface Selected {
  readonly server: string;
  readonly namespace: string | undefined;
  readonly user: string;
  readonly plugin: string | undefined;
}

function select(config: KubeConfig, wanted: string | undefined, file: string): Selected {
  const name = wanted ?? config.getCurrentContext();
  const known = config.getContexts().map((context) => context.name);
  const context = config.getContextObject(name ?? "");
  if (!context) {
    const which = name ? `has no context "${name}"` : "names no current-context";
    throw new KubeConfigError(
      "ContextUnknown",
      `${file} ${which}: give --context, one of ${known.join(", ") || "none"}`,
    );
  }
  config.setCurrentContext(context.name);
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (!cluster || !user) {
    const missing = cluster ? `user "${context.user}"` : `cluster "${context.cluster}"`;
    throw new KubeConfigError(
      "KubeconfigInvalid",
      `context "${context.name}" of ${file} names ${missing}, which it lacks`,
    );
  }
  const server = serverOf(cluster, file);
  const command: unknown = fieldOf(user.exec, "command");
  const plugin = typeof command === "string" ? command : undefined;
  return { server, namespace: context.namespace, user: user.name, plugin };
}

function serverOf(cluster: Cluster, file: string): string {
  const server = cluster.server.replace(/\/+$/, "");
  const where = `cluster "${cluster.name}" of ${file}`;
  if (!URL.canParse(server)) throw new KubeConfigError("KubeconfigInvalid", `${where}: server is no URL`);
  if (cluster.proxyUrl) {
    const text = `${where}: proxy-url is not supported; use a tunnel, or run in the cluster`;
    throw new KubeConfigError("KubeconfigInvalid", text);
  }
  return server;
}

interface HttpsOptions extends KubeTls {
  headers?: Record<string, string>;
  auth?: string;
}

class KubeconfigAuth implements KubeAuth {
  readonly server: string;
  readonly namespace: string | undefined;
  readonly #config: KubeConfig;
  readonly #selected: Selected;

  constructor(config: KubeConfig, selected: Selected) {
    this.#config = config;
    this.#selected = selected;
    this.server = selected.server;
    this.namespace = selected.namespace;
  }

  /** Files are read at every call, and the library renews a plugin's credentials when they expire: nothing to drop. */
  refresh(): void {}

  async credentials(): Promise<KubeCredentials> {
    const options: HttpsOptions = { headers: {} };
    try {
      await this.#config.applyToHTTPSOptions(options as Parameters<KubeConfig["applyToHTTPSOptions"]>[0]);
    } catch (error) {
      throw this.#unusable(error);
    }
    const basic = options.auth ? { authorization: `Basic ${Buffer.from(options.auth).toString("base64")}` } : {};
    const { ca, cert, key, servername, rejectUnauthorized } = options;
    const tls = Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(([, v]) => v !== undefined);
    return { headers: { ...options.headers, ...basic }, tls: Object.fromEntries(tls) };
  }

  #unusable(error: unknown): KubeConfigError {
    const { plugin, user } = this.#selected;
    if (plugin === undefined) {
      const text = `the credentials of user "${user}" in the kubeconfig cannot be read (${causeOf(error)}): do its files exist, has its login expired?`;
      return new KubeConfigError("CredentialsUnreadable", text);
    }
    const text = `the credential plugin "${plugin}" of user "${user}" failed (${causeOf(error)}): is it installed, and does running it by hand log you in?`;
    return new KubeConfigError("CredentialPluginFailed", text); // no cause: it may hold what the plugin printed
  }
}

/** A code or class name: nothing that could quote a credential. */
function causeOf(error: unknown): string {
  const code = isRecord(error) ? error["code"] : undefined;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "unknown";
}
