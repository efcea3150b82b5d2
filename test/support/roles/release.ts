import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ENTRY_SECRET_TYPE,
  entrySecretName,
  INSTANCE_LABEL,
  routesNamespace,
  servingLeaseName,
  workerConfigName,
  workerName,
} from "../../../src/api/names.ts";
import { KubeClient } from "../../../src/kube/client.ts";
import { LEASES, NAMESPACES, SECRETS, type Lease } from "../../../src/kube/core-types.ts";
import { KubeConnectionError } from "../../../src/kube/errors.ts";
import { KubeTransport } from "../../../src/kube/transport.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import type { RouteEntry } from "../../../src/routes/entry.ts";
import { PUBLICATION_KEY, published } from "../../../src/routes/publication.ts";
import { encodeWorkerConfig, WORKER_CONFIG_KEY, workerConfigs } from "../../../src/routes/worker-config.ts";
import { type FakeApiServer, startFakeApiServer } from "../fake-api-server/server.ts";
import { startRedis, type StartRedisOptions, type TestRedis } from "../redis.ts";
import { RoleProcess } from "./role-process.ts";

export const RELEASE_NAMESPACE = "davit-system";
export const TENANT = "shop";
const INSTANCE = "default";

type PutArguments = [namespace: string, name: string, content: { type: string; data: Record<string, string> }];
type Section = Readonly<Record<string, unknown>>;

/** A release without its controller: Redis, an API server, and roles as processes of their own. The test publishes what a controller would. */
export class Release {
  readonly redis: TestRedis;
  readonly api: FakeApiServer;
  readonly dir = mkdtempSync(join(tmpdir(), "davit-release-"));
  readonly client: KubeClient;
  readonly #processes: RoleProcess[] = [];
  #files = 0;

  constructor(redis: TestRedis, api: FakeApiServer) {
    this.redis = redis;
    this.api = api;
    this.client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
    for (const name of [RELEASE_NAMESPACE, routesNamespace("davit"), TENANT]) api.addNamespace(name);
    this.file("token", api.token);
    this.file("ca.crt", "");
  }

  /** Writes a file into the release's directory. @returns its path */
  file(name: string, content: string | Buffer): string {
    const path = join(this.dir, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Publishes a route, as the controller would. `change` spoils what lies in its Secret. */
  async publish(entry: RouteEntry, change: (publication: Record<string, unknown>) => unknown = (all) => all) {
    const json = JSON.stringify(change({ ...published(entry) }));
    await this.#put(routesNamespace("davit"), secretNameOf(entry), {
      type: ENTRY_SECRET_TYPE,
      data: { [PUBLICATION_KEY]: Buffer.from(json).toString("base64") },
    });
  }

  async unpublish(entry: RouteEntry): Promise<void> {
    await this.client.resource(SECRETS).delete({ namespace: routesNamespace("davit"), name: secretNameOf(entry) });
  }

  /** Writes the config Secrets of workers, as the controller would. @param route name of the one route they are for */
  async configure(entries: readonly RouteEntry[], options: { readonly route?: string; readonly spoil?: Section } = {}) {
    for (const [part, config] of workerConfigs(INSTANCE, TENANT, entries).entries()) {
      const bytes = encodeWorkerConfig({ ...config, ...options.spoil });
      await this.#put(TENANT, workerConfigName(workersOf(options.route), part), {
        type: "Opaque",
        data: { [WORKER_CONFIG_KEY]: bytes.toString("base64") },
      });
    }
  }

  lease(pod: string): Promise<Lease | undefined> {
    return again(() =>
      this.client.resource(LEASES).find({ namespace: RELEASE_NAMESPACE, name: servingLeaseName(pod) }),
    );
  }

  /** Starts a gateway. `changes` differ from its section of the config. */
  gateway(changes: Section = {}, redisUrl = this.redis.url): RoleProcess {
    const section = {
      port: 0,
      adminPort: 0,
      address: "127.0.0.1",
      podName: "pod-a",
      podUid: "uid-of-pod-a",
      shutdownDelayMs: 300,
    };
    return this.#start("gateway", { gateway: { ...section, ...changes } }, redisUrl);
  }

  /**
   * Starts a worker.
   * @param options `route`: of the workers of that route alone; `mounted`: what lies in its config directory; `program`: another than `davit worker`
   */
  worker(
    options: {
      readonly route?: string;
      readonly mounted?: readonly RouteEntry[];
      readonly program?: string;
      readonly redisUrl?: string;
    } = {},
  ): RoleProcess {
    const { route, mounted, program = "worker", redisUrl = this.redis.url } = options;
    const directory = `worker-${this.#files}`;
    const [part] = mounted ? workerConfigs(INSTANCE, TENANT, mounted) : [];
    if (part) this.file(join(directory, WORKER_CONFIG_KEY), encodeWorkerConfig(part));
    const section = {
      adminPort: 0,
      address: "127.0.0.1",
      configDir: join(this.dir, directory),
      configName: workersOf(route),
      namespace: TENANT,
      egress: { allow: ["127.0.0.1"] },
    };
    return this.#start(program, { worker: section }, redisUrl);
  }

  async stop(): Promise<void> {
    for (const process of this.#processes) await process.end("SIGKILL");
    await this.client.transport.close();
    await this.api.stop();
    await this.redis.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  #start(program: string, sections: Section, redisUrl: string): RoleProcess {
    const n = this.#files++;
    const config = {
      namespace: RELEASE_NAMESPACE,
      redis: { urlFile: this.file(`redis-${n}`, `${redisUrl}\n`) },
      kubernetes: { server: this.api.url, tokenFile: join(this.dir, "token"), caFile: join(this.dir, "ca.crt") },
      ...sections,
    };
    const process = new RoleProcess(program, this.file(`davit-${n}.yaml`, JSON.stringify(config)));
    this.#processes.push(process);
    return process;
  }

  async #put(...args: PutArguments): Promise<void> {
    await again(() => this.#putOnce(...args));
  }

  async #putOnce(...[namespace, name, content]: PutArguments): Promise<void> {
    const secrets = this.client.resource(SECRETS);
    const metadata = { namespace, name, labels: { [INSTANCE_LABEL]: INSTANCE } };
    const live = await secrets.find({ namespace, name });
    if (!live) await secrets.create({ metadata, ...content });
    else
      await secrets.update({ metadata: { ...metadata, resourceVersion: live.metadata.resourceVersion }, ...content });
  }
}

/** A test that cuts connections may cut the one of this call as well. */
async function again<T>(call: () => Promise<T>, left = 5): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof KubeConnectionError) || left === 0) throw error;
    return again(call, left - 1);
  }
}

function secretNameOf({ namespace, name }: RouteEntry): string {
  return entrySecretName(INSTANCE, namespace, name);
}

function workersOf(route: string | undefined): string {
  return workerName(INSTANCE, route === undefined ? { namespace: TENANT } : { namespace: TENANT, route });
}

/** Starts one. */
export async function startRelease(options: StartRedisOptions = {}): Promise<Release> {
  const [redis, api] = await Promise.all([startRedis(options), startFakeApiServer([SECRETS, LEASES, NAMESPACES])]);
  return new Release(redis, api);
}
