import type { WebhookRoute, WebhookRouteStatus } from "../../../src/api/generated/webhook-route.ts";
import { WEBHOOK_ROUTES } from "../../../src/controllers/webhook-route/route-types.ts";
import type { RouteObject } from "../../../src/controllers/webhook-route/watching/route-index.ts";
import { kubeconfigAuth } from "../../../src/kube/kubeconfig.ts";
import type { Live } from "../../../src/kube/objects.ts";
import { Reflector } from "../../../src/kube/reflector.ts";
import { KubeTransport } from "../../../src/kube/transport.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import type { Cluster } from "../../support/control-plane/access.ts";

type Condition = "Programmed" | "Ready";

interface Goal {
  readonly condition: Condition;
  readonly resolve: () => void;
}

/** Watches how far the routes of an instance are. */
export class Progress {
  readonly #instance: string;
  readonly #stop = new AbortController();
  readonly #transport: KubeTransport;
  readonly #reached = { Programmed: new Set<string>(), Ready: new Set<string>() };
  readonly #count: number;
  readonly #last = new Map<string, WebhookRouteStatus | undefined>();
  #goals: Goal[] = [];
  readonly #done: Promise<void>;

  private constructor(transport: KubeTransport, instance: string, count: number) {
    const metrics = createMetrics();
    this.#transport = transport;
    this.#instance = instance;
    this.#count = count;
    const reflector = new Reflector<RouteObject>({ transport, type: WEBHOOK_ROUTES, metrics, transform: statusOnly });
    reflector.onChange(({ key, next }) => next && this.#see(key, next));
    this.#done = reflector.run(this.#stop.signal);
  }

  /** @param count how many routes there are */
  static async watch(cluster: Cluster, instance: string, count: number): Promise<Progress> {
    const auth = await kubeconfigAuth({ file: cluster.adminKubeconfig });
    return new Progress(new KubeTransport({ auth, metrics: createMetrics() }), instance, count);
  }

  /**
   * Resolves when the condition is True for all routes.
   * @throws Error with an example of what the others lack, after `withinMs`
   */
  async all(condition: Condition, withinMs: number): Promise<void> {
    if (this.#reached[condition].size >= this.#count) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(this.#lacking(condition, withinMs))), withinMs);
    });
    const reached = new Promise<void>((resolve) => {
      this.#goals.push({ condition, resolve });
    });
    await Promise.race([reached, late]).finally(() => clearTimeout(timer));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
    await this.#transport.close();
  }

  #see(key: string, { spec, status }: Live<RouteObject>): void {
    if (spec.instance !== this.#instance) return;
    this.#last.set(key, status);
    for (const condition of ["Programmed", "Ready"] as const) {
      if (isTrue(status, condition)) this.#reached[condition].add(key);
    }
    const isOver = ({ condition }: Goal) => this.#reached[condition].size >= this.#count;
    for (const { resolve } of this.#goals.filter(isOver)) resolve();
    this.#goals = this.#goals.filter((goal) => !isOver(goal));
  }

  #lacking(condition: Condition, withinMs: number): string {
    const example = [...this.#last].find(([, status]) => !isTrue(status, condition));
    const reached = this.#reached[condition].size;
    return `after ${withinMs} ms ${reached} of ${this.#count} routes are ${condition}; one that is not: ${JSON.stringify(example)}`;
  }
}

function isTrue(status: WebhookRoute["status"], condition: Condition): boolean {
  return (status?.conditions ?? []).some((one) => one.type === condition && one.status === "True");
}

function statusOnly({ metadata, spec, status }: Live<RouteObject>): Live<RouteObject> {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion }, spec, status } as Live<RouteObject>;
}
