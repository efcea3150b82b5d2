import type { WebhookRoute } from "../../../api/generated/webhook-route.ts";
import type { DestinationsFinding } from "../../../routes/shared-copies.ts";
import type { Finding } from "../status/status-input.ts";
import { usesDestinations } from "./draft.ts";

type Spec = Pick<WebhookRoute["spec"], "destinations" | "destinationSelector">;

/** Whether one of a route's destinations starts runs of this CleanupPolicy of its namespace. */
export function namesPolicy(spec: Spec, policy: string): boolean {
  return policyNames(spec).includes(policy);
}

/**
 * `DestinationsResolved` of a route that names other objects as its destinations; `undefined`: none does.
 *
 * @param shared what compiling found of its WebhookDestinations
 * @param hasPolicy whether there is a CleanupPolicy of this name in its namespace
 */
export function destinationsFinding(
  spec: Spec,
  shared: DestinationsFinding,
  hasPolicy: (name: string) => boolean,
): Finding | undefined {
  const found = [
    ...(usesDestinations(spec) ? [sharedFinding(shared)] : []),
    ...(policyNames(spec).length > 0 ? [policiesFinding(spec, hasPolicy)] : []),
  ];
  const wrong = found.filter(({ status }) => status === "False");
  const [first] = wrong;
  return first ? { ...first, message: wrong.map(({ message }) => message).join("; ") } : found[0];
}

function policyNames({ destinations = [] }: Spec): readonly string[] {
  return destinations.flatMap(({ cleanup }) => cleanup?.policyRef.name ?? []);
}

function sharedFinding(finding: DestinationsFinding): Finding {
  const { ok, message } = finding;
  return ok ? { status: "True", reason: "Reconciled", message } : { status: "False", reason: finding.reason, message };
}

/** Events are taken all the same: their runs are asked for until there is such a policy, or they are too old. */
function policiesFinding(spec: Spec, hasPolicy: (name: string) => boolean): Finding {
  const missing = [...new Set(policyNames(spec))].filter((name) => !hasPolicy(name));
  if (missing.length === 0) return { status: "True", reason: "Reconciled", message: "all destinations are known" };
  const message = `no CleanupPolicy ${missing.join(", ")} in this namespace: create it, or correct cleanup.policyRef. Events wait for it as long as they are retried`;
  return { status: "False", reason: "CleanupPolicyNotFound", message };
}
