import type { Refusal } from "../../webhook-route/exposure/host-policy.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import type { PolicyView } from "./views.ts";

/** What the spec of a policy comes to, or why it is refused. */
export type Acceptance = AcceptedPolicy | { readonly refusal: Refusal };

/** Checks a policy and resolves its defaults. */
export function acceptedPolicy(policy: PolicyView): Acceptance {
  return { refusal: { reason: "NotImplemented", message: `CleanupPolicy ${policy.name} is not looked at yet` } };
}
