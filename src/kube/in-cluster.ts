import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { fieldOf } from "../lib/record.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { KubeAuth, KubeCredentials, KubeTls } from "./auth.ts";
import { KubeConfigError } from "./errors.ts";

const MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The kubelet replaces the token at 80 % of its hour or more; a minute is client-go's rhythm as well. */
const REREAD_MS = 60_000;

/** Where a process finds its credentials as files. What is absent is as Kubernetes mounts it into every pod. */
export interface InClusterOptions {
  /** Default `https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT`. */
  readonly server?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly namespaceFile?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timers?: Timers;
}

/** Whether this process seems to run in a pod. */
export function runsInCluster(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return Boolean(env["KUBERNETES_SERVICE_HOST"]) && Boolean(env["KUBERNETES_SERVICE_PORT"]);
}

/**
 * Credentials from a token file and a CA file, read anew at most every 60 s or when the server refuses them.
 * The files are read once before this resolves, so that what is wrong shows at the start.
 * @throws KubeConfigError `NotInCluster` without a server, `CredentialsUnreadable` without usable files
 */
export async function inClusterAuth(options: InClusterOptions = {}): Promise<KubeAuth> {
  const server = options.server ?? serverFromEnvironment(options.env ?? process.env);
  const auth = new FileAuth(server.replace(/\/+$/, ""), options);
  await auth.credentials();
  return auth;
}

class FileAuth implements KubeAuth {
  readonly server: string;
  #namespace: string | undefined;
  #user: string | undefined;
  #known: KubeCredentials | undefined;
  #readAt = 0;
  #refused = false;
  readonly #files: { readonly token: string; readonly ca: string; readonly namespace: string };
  readonly #timers: Timers;

  constructor(server: string, options: InClusterOptions) {
    this.server = server;
    this.#timers = options.timers ?? systemTimers;
    this.#files = {
      token: options.tokenFile ?? `${MOUNT}/token`,
      ca: options.caFile ?? `${MOUNT}/ca.crt`,
      namespace: options.namespaceFile ?? `${MOUNT}/namespace`,
    };
  }

  get namespace(): string | undefined {
    return this.#namespace;
  }

  user(): string | undefined {
    return this.#user;
  }

  refresh(): void {
    this.#refused = true;
  }

  async credentials(): Promise<KubeCredentials> {
    const known = this.#known;
    if (known && !this.#refused && this.#timers.monotonic() - this.#readAt < REREAD_MS) return known;
    try {
      return await this.#read(known?.tls);
    } catch (error) {
      // Being replaced just now? What we have was good a minute ago; the next call looks again.
      if (known && !this.#refused) return known;
      throw error;
    }
  }

  async #read(before: KubeTls | undefined): Promise<KubeCredentials> {
    const readAt = this.#timers.monotonic();
    const [token, ca] = await Promise.all([readToken(this.#files.token), readRequired(this.#files.ca)]);
    this.#namespace ??= await readOptional(this.#files.namespace);
    const same = Buffer.isBuffer(before?.ca) && before.ca.equals(ca);
    this.#known = { headers: { authorization: `Bearer ${token}` }, tls: same ? before : { ca } };
    this.#user = subjectOf(token);
    this.#refused = false;
    this.#readAt = readAt;
    return this.#known;
  }
}

function serverFromEnvironment(env: Readonly<Record<string, string | undefined>>): string {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (host && port) return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  throw new KubeConfigError(
    "NotInCluster",
    "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this runs outside a cluster; give a kubeconfig, or server, tokenFile and caFile",
  );
}

async function readToken(path: string): Promise<string> {
  const token = (await readRequired(path)).toString("utf8").trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new KubeConfigError("CredentialsUnreadable", `${path} holds no token: is the service account token mounted?`);
}

async function readRequired(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const code = String(fieldOf(error, "code"));
    throw new KubeConfigError(
      "CredentialsUnreadable",
      `cannot read ${path} (${code}): is automountServiceAccountToken off, or is the file not readable for this user?`,
      { cause: error },
    );
  }
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** `sub` of a JWT (RFC 7519 §4.1.2), for messages. Not verified: the server does that. */
function subjectOf(token: string): string | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const subject = fieldOf(payload, "sub");
    return typeof subject === "string" ? subject : undefined;
  } catch {
    return undefined;
  }
}
