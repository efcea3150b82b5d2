import type { Refusal } from "../exposure/host-policy.ts";
import type { Operator } from "../operator.ts";

/**
 * Why workers in a namespace cannot reach Redis, as far as it shows in the cluster. What is in their Secret is not looked at.
 * @param place namespace of the worker Pods
 */
export function redisProblem(
  { config, secrets, redisAccess }: Pick<Operator, "config" | "secrets" | "redisAccess">,
  place: string,
): Refusal | undefined {
  const { users, providedSecretName: name } = config.redis;
  if (users === "Provisioned") return redisAccess?.problem(place);
  if (secrets.state(place) !== "Synced" || secrets.labelsOf(place, name) !== undefined) return undefined;
  return {
    reason: "RedisSecretNotFound",
    message: `Secret ${name} with the Redis URL of workers does not exist in namespace ${place}: kubectl create secret generic ${name} --namespace ${place} --from-literal=url=redis://USER:PASSWORD@HOST:6379 (the user's rules are in docs/redis-users.md)`,
  };
}
