import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./control-plane/access.ts";
import type { KubeClient, KubeObject } from "./control-plane/client.ts";

const LIST_MS = 100;
const GROUP = "gateway.networking.k8s.io";
const CONTROLLER_NAME = "example.com/fake-gateway-controller";
/** An address for documentation (RFC 5737). */
const ADDRESS = "192.0.2.10";

interface Reference {
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly sectionName?: string;
  readonly port?: number;
}

/** A condition's verdict: true, or the reason why not. */
type Verdict = true | string;

export interface FakeGatewayOptions {
  /** Whose HTTPRoutes and Ingresses it serves. */
  readonly namespaces: readonly string[];
  /** Whether a parent accepts an HTTPRoute, or the reason why not, e.g. `NotAllowedByListeners`. Default: every one. */
  readonly accept?: (route: KubeObject, parent: Reference) => Verdict;
  /** Whether an Ingress is admitted: it gets an address. Default: every one. */
  readonly admit?: (ingress: KubeObject) => boolean;
}

/**
 * Stands for a Gateway implementation and an Ingress controller, as far as status goes: sets each HTTPRoute's `status.parents` with
 * Accepted and ResolvedRefs (backends and ReferenceGrants are really looked up) and each Ingress's `status.loadBalancer`.
 */
export class FakeGatewayController {
  readonly #admin: KubeClient;
  readonly #options: Required<FakeGatewayOptions>;
  #isStopped = false;
  readonly #done: Promise<void>;

  constructor(cluster: Cluster, options: FakeGatewayOptions) {
    this.#admin = cluster.admin;
    this.#options = { accept: () => true, admit: () => true, ...options };
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    for (; !this.#isStopped; await sleep(LIST_MS)) {
      const all = this.#options.namespaces.flatMap((namespace) => [
        this.#routes(namespace),
        this.#ingresses(namespace),
      ]);
      // A request that fails, also for want of the CRD, is made again in the next turn.
      await Promise.allSettled(all);
    }
  }

  async #routes(namespace: string): Promise<void> {
    const path = `/apis/${GROUP}/v1/namespaces/${namespace}/httproutes`;
    for (const route of await this.#admin.list(path)) {
      const parents = await this.#parentsOf(route);
      if (sameConditions(parents, route["status"]?.parents ?? [])) continue;
      await this.#admin.patch(`${path}/${route.metadata.name}/status`, { status: { parents } });
    }
  }

  async #parentsOf(route: KubeObject): Promise<Parent[]> {
    const references: Reference[] = route["spec"].parentRefs ?? [];
    const resolved = references.length === 0 ? true : await this.#resolve(route);
    return references.map((parentRef) => ({
      parentRef,
      controllerName: CONTROLLER_NAME,
      conditions: [
        condition("Accepted", this.#options.accept(route, parentRef), route),
        condition("ResolvedRefs", resolved, route),
      ],
    }));
  }

  /** Looks for every backend, and for a grant when it is in another namespace (Gateway API: "ReferenceGrant"). */
  async #resolve(route: KubeObject): Promise<Verdict> {
    const own = route.metadata.namespace ?? "";
    const rules: { backendRefs?: Reference[] }[] = route["spec"].rules ?? [];
    for (const { name, namespace = own } of rules.flatMap(({ backendRefs = [] }) => backendRefs)) {
      if (namespace !== own && !(await this.#isGranted(own, namespace, name))) return "RefNotPermitted";
      const { status } = await this.#admin.request("GET", `/api/v1/namespaces/${namespace}/services/${name}`);
      if (status === 404) return "BackendNotFound";
    }
    return true;
  }

  async #isGranted(from: string, namespace: string, service: string): Promise<boolean> {
    const grants = await this.#admin.list(`/apis/${GROUP}/v1beta1/namespaces/${namespace}/referencegrants`);
    return grants.some(({ spec }) => {
      const comesFrom = (one: Reference) => one.group === GROUP && one.kind === "HTTPRoute" && one.namespace === from;
      const goesTo = (one: Reference) =>
        one.group === "" && one.kind === "Service" && (one.name === undefined || one.name === service);
      return spec.from.some(comesFrom) && spec.to.some(goesTo);
    });
  }

  async #ingresses(namespace: string): Promise<void> {
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;
    for (const ingress of await this.#admin.list(path)) {
      const isAdmitted = (ingress["status"]?.loadBalancer?.ingress ?? []).length > 0;
      if (this.#options.admit(ingress) === isAdmitted) continue;
      const addresses = isAdmitted ? [] : [{ ip: ADDRESS }];
      await this.#admin.patch(`${path}/${ingress.metadata.name}/status`, {
        status: { loadBalancer: { ingress: addresses } },
      });
    }
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

interface Parent {
  readonly parentRef: Reference;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

function condition(type: string, verdict: Verdict, route: KubeObject): Condition {
  return {
    type,
    status: verdict === true ? "True" : "False",
    reason: verdict === true ? type : verdict,
    message: "",
    observedGeneration: route.metadata.generation ?? 0,
    lastTransitionTime: new Date().toISOString(),
  };
}

/** Whether nothing but the times differs. */
function sameConditions(a: readonly Parent[], b: readonly Parent[]): boolean {
  const essence = (parents: readonly Parent[]) =>
    parents.map(({ parentRef: { name, namespace, sectionName, port }, conditions }) => [
      [name, namespace ?? "", sectionName ?? "", port ?? 0],
      conditions.map(({ type, status, reason, observedGeneration }) => [type, status, reason, observedGeneration]),
    ]);
  return JSON.stringify(essence(a)) === JSON.stringify(essence(b));
}
