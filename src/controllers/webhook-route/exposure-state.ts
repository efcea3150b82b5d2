import type { HostConfig } from "../../config/schema.ts";
import type { KubeObject } from "../../kube/objects.ts";
import type { Finding } from "./status-input.ts";

/**
 * `IngressReady` from the live objects that expose a route.
 *
 * @param live of the desired objects of the host, those of kind Ingress or HTTPRoute in the route's reach; `undefined` for one not there yet
 */
export function exposureState(_host: HostConfig, _live: readonly (KubeObject | undefined)[]): Finding {
  return { status: "Unknown", reason: "Progressing", message: "" };
}
