import type { Reason } from "../../api/conditions.ts";
import type { HostConfig } from "../../config/schema.ts";

/** Why a part of a route is not as it should be: reason and message of a condition. */
export interface Refusal {
  readonly reason: Reason;
  readonly message: string;
}

export interface HostRequest {
  readonly host: string;
  readonly path: string;
  readonly namespace: string;
  readonly namespaceLabels: Readonly<Record<string, string>>;
}

/** `host`: the entry of `gateway.hosts` that admits the route. `tlsMissing`: it may not be exposed, `IngressReady` is false. */
export type HostDecision =
  | { readonly ok: true; readonly host: HostConfig; readonly tlsMissing?: Refusal }
  | { readonly ok: false; readonly refusal: Refusal };

/** Whether a route may have its host and path. `ok: false`: `Accepted=False/HostNotAllowed`. */
export function decideHost(_request: HostRequest, hosts: readonly HostConfig[]): HostDecision {
  const [host] = hosts;
  return host === undefined ? { ok: false, refusal: { reason: "HostNotAllowed", message: "" } } : { ok: true, host };
}
