import { COMPONENT_LABEL, INSTANCE_LABEL, MANAGED_BY, MANAGED_BY_LABEL } from "../../api/names.ts";
import type { Config } from "../../config/schema.ts";
import type { KubeClient } from "../../kube/client.ts";
import { type Secret, SECRETS } from "../../kube/core-types.ts";
import { sleep, systemTimers } from "../../lib/timers.ts";
import type { Logger } from "../../observability/logger.ts";
import type { ProvisionedUsers } from "./redis-users.ts";

const KEY = "url";
/** The Secret is looked at this often, ms, and after a failure. */
const AGAIN_MS = 30_000;
const RETRY_MS = 2_000;

export interface GatewayAccessOptions {
  readonly config: Pick<Config, "instance" | "namespace" | "redis">;
  /** Its writes ask the fence of the leader. */
  readonly client: KubeClient;
  readonly users: Pick<ProvisionedUsers, "newUrlOf" | "isUsableFor" | "grantTo">;
  readonly logger: Logger;
}

/** Whose users and Secrets are kept. */
const ROLES = ["gateway", "console"] as const;
type Role = (typeof ROLES)[number];

/**
 * Keeps the users of the gateways and of the console, and their Secrets in the release's namespace (`redis.gatewaySecretName`, `redis.consoleSecretName`), until
 * the signal fires. The Secrets are state: the passwords are nowhere else.
 */
export async function keepGatewayAccess(options: GatewayAccessOptions, signal: AbortSignal): Promise<void> {
  const roles = ROLES.filter((role) => secretNameOf(options.config, role) !== undefined);
  await Promise.all(roles.map((role) => keepAccess(role, options, signal)));
}

function secretNameOf({ redis }: GatewayAccessOptions["config"], role: Role): string | undefined {
  return role === "gateway" ? redis.gatewaySecretName : redis.consoleSecretName;
}

async function keepAccess(role: Role, options: GatewayAccessOptions, signal: AbortSignal): Promise<void> {
  let told = "";
  while (!signal.aborted) {
    let wait = AGAIN_MS;
    try {
      await keepOnce(role, options, signal);
      told = "";
    } catch (error) {
      wait = RETRY_MS;
      const message = error instanceof Error ? error.message : String(error);
      if (message !== told)
        options.logger.warn({ role, err: error }, "the Redis user of a role could not be made; trying again");
      told = message;
    }
    await sleep(systemTimers, wait, signal);
  }
}

async function keepOnce(
  role: Role,
  { config, client, users }: GatewayAccessOptions,
  signal: AbortSignal,
): Promise<void> {
  const { instance, namespace } = config;
  const name = secretNameOf(config, role);
  if (name === undefined) return;
  const scope = { role, instance };
  const resource = client.resource(SECRETS);
  const live = await resource.find({ namespace, name }, { signal });
  const url = Buffer.from(live?.data?.[KEY] ?? "", "base64").toString("utf8");
  const isUsable = users.isUsableFor(scope, url);
  const next = isUsable ? url : users.newUrlOf(scope);
  // The user first: whoever finds the Secret must be let in.
  await users.grantTo(scope, next);
  if (isUsable) return;
  const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: instance, [COMPONENT_LABEL]: "redis" };
  const data = { [KEY]: Buffer.from(next).toString("base64") };
  const metadata = { name, namespace, labels };
  if (live === undefined) {
    await resource.create({ metadata, type: "Opaque", data } satisfies Secret, { signal });
    return;
  }
  const { uid, resourceVersion } = live.metadata;
  await resource.update({ metadata: { ...metadata, uid, resourceVersion }, type: "Opaque", data }, { signal });
}
