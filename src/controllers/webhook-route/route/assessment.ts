import type { ResolvedWebhookRouteSpec } from "../../../api/defaults.ts";
import type { WebhookRoute } from "../../../api/generated/webhook-route.ts";
import { API_VERSION } from "../../../api/names.ts";
import { formatProblem, hasErrors, type Problem } from "../../../api/problem.ts";
import { type Validation, validateRoute } from "../../../api/validation.ts";
import type { Config, HostConfig } from "../../../config/schema.ts";
import type { Live } from "../../../kube/objects.ts";
import type { Claimant } from "../../../routes/claims.ts";
import { decideHost, type Refusal } from "../exposure/host-policy.ts";
import type { RouteObject } from "../watching/route-index.ts";
import { workerRefusal } from "../workers/worker-refusals.ts";

/** What can be said of a route without its Secrets and without the other routes. */
export type Assessment =
  | {
      readonly ok: true;
      readonly spec: ResolvedWebhookRouteSpec;
      readonly host: HostConfig;
      readonly tlsMissing?: Refusal;
      readonly warnings: readonly Problem[];
    }
  | {
      readonly ok: false;
      readonly refusal: Refusal;
      /** The spec, when it is the host that is refused. */
      readonly spec?: ResolvedWebhookRouteSpec;
    };

/** By spec, which never changes: a route is looked at far more often than it is edited. */
const validations = new WeakMap<object, Validation>();

/** Checks the spec, asks the host policy, and refuses what this release cannot give. */
export function assess(
  route: Live<RouteObject>,
  namespaceLabels: Readonly<Record<string, string>>,
  { gateway: { hosts }, redis }: Pick<Config, "gateway" | "redis">,
): Assessment {
  const { spec, problems } = validationOf(manifestOf(route));
  if (spec === undefined) return { ok: false, refusal: invalid(problems) };
  const { host, path } = spec.exposure;
  const decision = decideHost({ host, path, namespace: route.metadata.namespace ?? "", namespaceLabels }, hosts);
  if (!decision.ok) return { ok: false, refusal: decision.refusal, spec };
  const refusal = workerRefusal(spec.worker?.dedicated, { redis });
  if (refusal !== undefined) return { ok: false, refusal };
  return {
    ok: true,
    spec,
    host: decision.host,
    warnings: problems,
    ...(decision.tlsMissing === undefined ? {} : { tlsMissing: decision.tlsMissing }),
  };
}

/** A route as a claimant of the place it wants. */
export function claimantOf(route: Live<RouteObject>): Claimant {
  const { namespace = "", name, creationTimestamp } = route.metadata;
  const { host, path } = route.spec.exposure;
  return { namespace, name, host, path, createdAt: Date.parse(creationTimestamp ?? "") || 0 };
}

/** A route as it must be written in a manifest: what is checked leaves the status out, which is not the user's. */
export function manifestOf({ metadata, spec }: Live<RouteObject>): WebhookRoute {
  return { apiVersion: API_VERSION, kind: "WebhookRoute", metadata: metadata as WebhookRoute["metadata"], spec };
}

/** Why a spec is refused, all problems at once. */
export function invalid(problems: readonly Problem[]): Refusal {
  const errors = problems.filter((problem) => hasErrors([problem]));
  return { reason: "InvalidSpec", message: errors.map(formatProblem).join("; ") };
}

/** As {@link validateRoute}, once for each spec. */
export function validationOf(manifest: WebhookRoute): Validation {
  const known = validations.get(manifest.spec);
  if (known !== undefined) return known;
  const validation = validateRoute(manifest);
  validations.set(manifest.spec, validation);
  return validation;
}
