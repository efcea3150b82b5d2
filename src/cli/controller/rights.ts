import { destinationsNamespace, leaderLeaseName, routesNamespace } from "../../api/names.ts";
import type { Config } from "../../config/schema.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/objects.ts";
import { canIRemedy } from "../../kube/request-info.ts";
import type { ResourceType } from "../../kube/resource-type.ts";

/** `SelfSubjectAccessReview`: asks what the asker may do; everybody may ask. */
interface AccessReview extends KubeObject {
  readonly spec: {
    readonly resourceAttributes: {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string;
      readonly namespace?: string;
      readonly name?: string;
    };
  };
  readonly status?: { readonly allowed?: boolean };
}

const ACCESS_REVIEWS: ResourceType<AccessReview> = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: in all namespaces. */
  readonly namespace?: string;
  /** Absent: whatever its name. */
  readonly name?: string;
}

/** Without these nothing works; the ones of tenant namespaces show in the status of the routes there. */
function neededRights({ namespace, release, instance, rbac }: Config): {
  readonly blocking: readonly Right[];
  readonly others: readonly Right[];
} {
  const core = "";
  const published = [routesNamespace(release), destinationsNamespace(release)];
  const leases = { group: "coordination.k8s.io", resource: "leases", namespace };
  const blocking: Right[] = [
    ...["webhookroutes", "webhookdestinations", "cleanuppolicies", "cleanupruns"].flatMap((resource) => [
      ...["list", "watch"].map((verb) => ({ verb, group: "davit.dev", resource })),
      { verb: "patch", group: "davit.dev", resource, subresource: "status" },
    ]),
    ...["create", "delete"].map((verb) => ({ verb, group: "davit.dev", resource: "cleanupruns" })),
    ...["list", "watch"].map((verb) => ({ verb, group: core, resource: "namespaces" })),
    ...published.flatMap((place) =>
      ["list", "watch", "create", "update", "delete"].map((verb) => ({
        verb,
        group: core,
        resource: "secrets",
        namespace: place,
      })),
    ),
    { ...leases, verb: "create" },
    { ...leases, verb: "update", name: leaderLeaseName(instance) },
    { verb: "list", group: core, resource: "pods", namespace },
    { verb: "create", group: core, resource: "secrets", namespace },
  ];
  const places = rbac.scope === "Cluster" ? [undefined] : rbac.namespaces;
  const others = places.flatMap((place) =>
    [
      { verb: "list", group: core, resource: "secrets" },
      { verb: "patch", group: "apps", resource: "deployments" },
      { verb: "patch", group: "rbac.authorization.k8s.io", resource: "roles" },
    ].map((right) => (place === undefined ? right : { ...right, namespace: place })),
  );
  return { blocking, others };
}

/** Asks the API server for each right, and names those that are missing with the command that shows them. */
export async function missingRights(
  client: KubeClient,
  config: Config,
  signal: AbortSignal,
): Promise<{ readonly blocking: readonly string[]; readonly others: readonly string[] }> {
  const { blocking, others } = neededRights(config);
  const ask = async (right: Right): Promise<string[]> => {
    const review = { metadata: { name: "" }, spec: { resourceAttributes: right } };
    const { status } = await client.resource(ACCESS_REVIEWS).create(review, { signal });
    if (status?.allowed === true) return [];
    const { verb, group, resource, subresource, namespace, name } = right;
    const full = `${resource}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
    return [canIRemedy({ verb, resource: full, namespace, name })];
  };
  const [first, second] = await Promise.all(
    [blocking, others].map(async (rights) => (await Promise.all(rights.map(ask))).flat()),
  );
  return { blocking: first ?? [], others: second ?? [] };
}
