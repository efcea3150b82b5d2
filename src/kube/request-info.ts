/** What a request asks for, in the words of RBAC. */
export interface RequestInfo {
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`. */
  readonly verb: string;
  /** `deployments.apps`, `secrets`, `leases.coordination.k8s.io/status`; the path for anything that is no resource. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };
const RESOURCE = /^\/(?:api|apis\/(?<group>[^/]+))\/[^/]+(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<rest>[^?]+)$/;

/**
 * Reads a request as the API server does (https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb).
 * @param watch whether it has `watch=true`
 */
export function requestInfo(method: string, path: string, watch = false): RequestInfo {
  const parts = RESOURCE.exec(path)?.groups;
  if (!parts) return { verb: VERBS[method] ?? "get", resource: path, namespace: undefined, name: undefined };
  const [plural = "", name, subresource] = (parts["rest"] ?? "").split("/").map(decodeURIComponent);
  const resource = [plural, parts["group"]].filter(Boolean).join(".");
  return {
    verb: VERBS[method] ?? readingVerb(name, watch),
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace: parts["namespace"],
    name,
  };
}

function readingVerb(name: string | undefined, watch: boolean): string {
  if (watch) return "watch";
  return name === undefined ? "list" : "get";
}

/** Says what is not allowed, and the command that shows it and shows when it is repaired. */
export function canIRemedy({ verb, resource, namespace, name }: RequestInfo, user?: string): string {
  const where = namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
  // kubectl reads what follows a slash as a name.
  const [type = "", subresource] = resource.startsWith("/") ? [resource] : resource.split("/");
  const command = [
    `kubectl auth can-i ${verb} ${name === undefined ? type : `${type}/${name}`}`,
    ...(subresource === undefined ? [] : [`--subresource ${subresource}`]),
    namespace === undefined ? "--all-namespaces" : `--namespace ${namespace}`,
    ...(user === undefined ? [] : [`--as ${user}`]),
  ];
  return `not allowed to ${verb} ${resource} ${where}; if a right is missing, grant it and check with: ${command.join(" ")}`;
}
