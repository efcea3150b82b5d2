import { USE_LABEL } from "../../../api/names.ts";
import type { Unresolved } from "../../../routes/observed-keys.ts";
import type { Refusal } from "../exposure/host-policy.ts";
import type { WorkerRelease } from "./worker-place.ts";
import type { Dedicated } from "./worker-sizing.ts";

/**
 * What a route must not ask for while workers run in the release's namespace (Redis users `Shared`): its own image or variables would run
 * beside the one Redis credential of all namespaces, and `valueFrom` would read the release's Secrets.
 */
export function workerRefusal(
  dedicated: Dedicated | undefined,
  { redis }: Pick<WorkerRelease, "redis">,
): Refusal | undefined {
  if (redis.users !== "Shared" || dedicated === undefined) return undefined;
  const field = dedicated.image === undefined ? dedicated.env?.length && "env" : "image";
  if (!field) return undefined;
  const message = `spec.worker.dedicated.${field} is refused: this release shares one Redis user (redis.users: Shared), so its workers run beside that credential; install it with redis.users Provided or Provisioned, or remove the field`;
  return { reason: "HandlerNotAllowed", message };
}

/**
 * Secrets that `worker.dedicated.env` may not use, or that are not there. See {@link deniedSecrets} too.
 *
 * @param labelsOf labels of a Secret of the route's namespace; `undefined` when there is none
 */
export function unresolvedEnv(
  dedicated: Dedicated | undefined,
  labelsOf: (secret: string) => Readonly<Record<string, string>> | undefined,
): readonly Unresolved[] {
  return (dedicated?.env ?? []).flatMap(({ valueFrom }, index): Unresolved[] => {
    const name = valueFrom?.secretKeyRef?.name;
    if (name === undefined) return [];
    const path = `spec.worker.dedicated.env[${index}]`;
    const labels = labelsOf(name);
    if (labels === undefined) {
      return [{ path, reason: "SecretNotFound", message: `Secret ${name} does not exist: create it` }];
    }
    if (labels[USE_LABEL] === "true") return [];
    const message = `Secret ${name} lacks the label ${USE_LABEL}: "true", which permits routes to use it: kubectl label secret ${name} ${USE_LABEL}=true`;
    return [{ path, reason: "SecretNotLabelled", message }];
  });
}

/** Names of the Secrets that `worker.dedicated.env` refers to. */
export function envSecretNames(dedicated: Dedicated | undefined): readonly string[] {
  return [...new Set((dedicated?.env ?? []).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []))];
}

/**
 * Secrets of {@link envSecretNames} without the label, for `workerObjects`. One that is not there is among them: a Pod that waits for it would start
 * with it as soon as it is made, whatever its labels.
 */
export function deniedSecrets(
  dedicated: Dedicated | undefined,
  labelsOf: (secret: string) => Readonly<Record<string, string>> | undefined,
): ReadonlySet<string> {
  return new Set(envSecretNames(dedicated).filter((name) => labelsOf(name)?.[USE_LABEL] !== "true"));
}
