import { isFinished } from "../../api/cleanup-run.ts";
import { type Change } from "../../kube/object-cache.ts";
import { keyOf, type KubeObject, type Live, refOf } from "../../kube/objects.ts";
import type { Reflector } from "../../kube/reflector.ts";
import { namesPolicy } from "../webhook-route/route/destinations-finding.ts";
import { isNews } from "../webhook-route/watching/news.ts";
import type { Operator } from "../webhook-route/operator.ts";
import { releaseSecrets } from "../webhook-route/watching/release-secrets.ts";
import type { Watches } from "../webhook-route/watching/watches.ts";
import { policySecretNames } from "./cleaner/cleaner-secrets.ts";
import { cleanerPolicy } from "./cleaner/cleaners.ts";
import type { CleanupContext } from "./context.ts";
import type { PolicyObject, RunObject } from "../../api/cleanup-resources.ts";
import { policyKeyOf } from "./object-views.ts";

/** Watches of policies and runs. */
export interface CleanupWatches {
  readonly policies: Pick<Reflector<PolicyObject>, "onChange">;
  readonly runs: Pick<Reflector<RunObject>, "onChange">;
}

/** What the controllers of the process share, as far as it is watched. */
export interface Shared {
  readonly operator: Operator;
  readonly watches: Pick<Watches, "tenantSecrets" | "namespaces">;
}

/** Feeds what is known of policies and runs from the watches, and queues the policies that a change may concern. */
export function connectCleanup(watches: CleanupWatches, shared: Shared, context: CleanupContext): void {
  const { index, config, enqueue } = context;
  const { operator } = shared;
  const isOurs = ({ spec }: { readonly spec: { readonly instance?: string } }) =>
    (spec.instance ?? "default") === config.instance;
  operator.otherUsers?.push((namespace) => index.policiesIn(namespace).length > 0);
  watches.policies.onChange(({ key, next, previous }) => {
    if (next !== undefined && isOurs(next)) onPolicy(shared, context, next, previous);
    else if (index.policy(key) !== undefined) onPolicyGone(shared, context, key);
  });
  watches.runs.onChange(({ key, next, previous }) => {
    if (next !== undefined && isOurs(next)) onRun(context, next, previous);
    else onRunGone(context, key);
  });
  shared.watches.tenantSecrets.onChange(({ key }) => queueUsers(context, key));
  shared.watches.namespaces.onChange(({ key }) => {
    for (const policy of index.policiesIn(key)) enqueue(keyOf(policy));
  });
  operator.children.onChange((_kind, change) => onChild(context, change));
}

function onPolicy(
  { operator, watches }: Shared,
  { index, enqueue, config }: CleanupContext,
  next: Live<PolicyObject>,
  previous: Live<PolicyObject> | undefined,
): void {
  const { namespace = "" } = next.metadata;
  watches.tenantSecrets.want(namespace);
  // Elsewhere nothing is asked for until its Secrets may be seen: one refusal is enough.
  const isEnabled = config.rbac.scope === "Cluster" || config.rbac.namespaces.includes(namespace);
  if (isEnabled) operator.children.want(namespace);
  index.putPolicy(next);
  if (!operator.cleanupPolicies.has(keyOf(next))) {
    operator.cleanupPolicies.add(keyOf(next));
    queueRoutesOf(operator, keyOf(next));
  }
  // A status that this process wrote may let runs be pruned.
  if (previous?.metadata.resourceVersion !== next.metadata.resourceVersion) enqueue(keyOf(next));
}

function onPolicyGone({ operator, watches }: Shared, { index, enqueue }: CleanupContext, key: string): void {
  index.removePolicy(key);
  operator.cleanupPolicies.delete(key);
  queueRoutesOf(operator, key);
  enqueue(key);
  releaseSecrets(watches, operator, refOf(key).namespace ?? "");
}

/** Routes that name a policy, which say whether there is one. @param key `namespace/name` */
function queueRoutesOf({ routes, enqueue }: Operator, key: string): void {
  const { namespace = "", name } = refOf(key);
  for (const route of routes.ofNamespace(namespace)) {
    const spec = routes.get(route)?.spec;
    if (spec !== undefined && namesPolicy(spec, name)) enqueue.route(route);
  }
}

function onRun(context: CleanupContext, next: Live<RunObject>, previous: Live<RunObject> | undefined): void {
  const { index, enqueue } = context;
  const hasEnded = previous !== undefined && !isFinished(previous.status) && isFinished(next.status);
  if (hasEnded && context.isLeader()) observeEnd(context, next);
  index.putRun(next);
  if (previous === undefined || isNews(next, previous) || hasMoved(next, previous)) enqueue(policyKeyOf(next));
}

/** A run under way writes its status all the time: only what the plan goes by is a reason to look. */
function hasMoved(next: Live<RunObject>, previous: Live<RunObject>): boolean {
  return stateOf(next) !== stateOf(previous);
}

function stateOf({ status = {} }: Live<RunObject>): string {
  const { phase, reason, snapshot, lastError, lease } = status;
  return JSON.stringify([phase, reason, snapshot === undefined, lastError, lease === undefined]);
}

function onRunGone({ index, enqueue }: CleanupContext, key: string): void {
  const before = index.run(key);
  if (before === undefined) return;
  index.removeRun(key);
  enqueue(policyKeyOf(before));
}

function queueUsers({ index, enqueue }: CleanupContext, secret: string): void {
  const { namespace = "", name } = refOf(secret);
  for (const policy of index.policiesIn(namespace)) {
    if (policySecretNames(policy.spec).includes(name)) enqueue(keyOf(policy));
  }
}

/** A cleaner that is not as it was applied is made so again; how it fares shows in the status of its policy. */
function onChild({ enqueue }: CleanupContext, { next, previous }: Change<KubeObject>): void {
  const object = next ?? previous;
  const policy = object === undefined ? undefined : cleanerPolicy(object);
  if (policy !== undefined) enqueue(policy);
}

function observeEnd({ metrics }: CleanupContext, { metadata, spec, status }: Live<RunObject>): void {
  const began = Date.parse(status?.admittedAt ?? "");
  const ended = Date.parse(status?.finishedAt ?? "");
  if (Number.isNaN(began) || Number.isNaN(ended)) return;
  const labels = { namespace: metadata.namespace ?? "", policy: spec.policyRef.name, phase: status?.phase ?? "" };
  metrics.cleanupRunDuration.observe(labels, Math.max(0, ended - began) / 1_000);
}
