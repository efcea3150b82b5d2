import type { RedisAccess } from "../../controllers/webhook-route/redis-access.ts";
import { CustodyError } from "../../custody/port.ts";
import { userName } from "../../custody/redis/user-rules.ts";
import { aclNode, newPassword, RedisUsers, urlFor } from "../../custody/redis/users.ts";

/**
 * The users of an instance's workers on one Redis.
 * @param url of its administrator: the controller's own
 */
export function redisUsers(url: string, instance: string): RedisAccess & { readonly close: () => void } {
  const node = aclNode(url);
  const users = new RedisUsers([node], instance);
  const scopeOf = (namespace: string) => ({ role: "worker", instance, namespace }) as const;
  return {
    newUrl: (namespace) => urlFor(url, { user: userName(scopeOf(namespace)), password: newPassword() }),
    isUsable: (namespace, candidate) => {
      const found = parse(candidate);
      if (found === undefined || found.password === "") return false;
      return urlFor(url, { user: userName(scopeOf(namespace)), password: passwordOf(found) }) === found.href;
    },
    grant: async (namespace, granted) => {
      const found = parse(granted);
      const password = found === undefined ? "" : passwordOf(found);
      const { failed } = await users.ensure([{ ...scopeOf(namespace), password }]);
      const [first] = failed;
      if (first === undefined) return;
      throw new CustodyError(first.code, `the user of namespace ${namespace} could not be set on ${first.node}`);
    },
    revoke: async (namespace) => {
      await node.acl("DELUSER", userName(scopeOf(namespace)));
    },
    close: () => node.close(),
  };
}

function parse(url: string): URL | undefined {
  return URL.parse(url) ?? undefined;
}

function passwordOf({ password }: URL): string {
  return decodeURIComponent(password);
}
