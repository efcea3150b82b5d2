/** Who connects to Redis. `shared`: gateway and workers of a release in one, for `redis.users: Shared`. */
export type RedisRole = "gateway" | "worker" | "controller" | "console" | "shared";

/** A user of a role. Workers have one a namespace, the others one a release. */
export interface RedisUserScope {
  readonly role: RedisRole;
  readonly instance: string;
  /** Of a `worker`. */
  readonly namespace?: string;
}

/**
 * What every role starts with: reading and writing by scripts, and nothing that looks beyond the own keys. `-@dangerous` takes INFO with it, which BullMQ
 * cannot do without; it takes FLUSHALL, KEYS, CONFIG and all of administration too.
 */
const BASE = ["-@all", "+@read", "+@write", "+@connection", "+eval", "+evalsha"];
const LIMITS = ["-@dangerous", "-function", "-select", "-scan", "-randomkey", "-dbsize"];
const FACTS = ["+info", "+time", "+cluster|slots", "+cluster|info"];
/** Not `+@pubsub`: PUBSUB CHANNELS names the channels of everybody. */
const CHANNELS = ["+publish", "+subscribe", "+unsubscribe"];
/** What a role may do beyond that, and why it needs it. */
const EXTRA: Readonly<Record<RedisRole, { readonly commands: readonly string[]; readonly why: string }>> = {
  gateway: {
    commands: ["+publish", "+multi", "+exec", "+config|get", "+wait"],
    why: "announces work, traces refusals in one step, reads the settings that make an acknowledgement durable, waits for replicas",
  },
  worker: { commands: ["+@blocking", ...CHANNELS], why: "waits for tickets by BullMQ, and for hints on a channel" },
  controller: {
    commands: ["+@blocking", ...CHANNELS, "+multi", "+exec", "+config|get", "+wait"],
    why: "looks after shelves and backlogs of every namespace; with `Provisioned` it also needs `+acl`, and is then an administrator",
  },
  console: {
    commands: ["+publish", "+multi", "+exec", "+wait"],
    why: "reads and changes what is in custody of every namespace for the callers of the operations API, and tells workers of it",
  },
  shared: {
    commands: ["+@blocking", ...CHANNELS, "+multi", "+exec", "+config|get", "+wait"],
    why: "serves gateway, controller and workers alike",
  },
};

/** Glob of the tags of an instance's namespaces. A worker's leaves out what handshakes left in its namespace (`handshakesKey`), by the colon after the brace. Braces are no special characters in a pattern of Redis. */
function keysOf({ role, instance, namespace }: RedisUserScope): string {
  if (role === "worker") return `davit:${instance}:{${namespace ?? ""}}:*`;
  return role === "gateway" || role === "console" ? `davit:${instance}:{*}:*` : `davit:${instance}:*`;
}

/** Why a role has what it has, one clause. */
export function reasonOf(role: RedisRole): string {
  return EXTRA[role].why;
}

/** Commands of a role, in the order in which Redis must read them. */
export function commandRules(role: RedisRole): readonly string[] {
  return [...BASE, ...LIMITS, ...FACTS, ...EXTRA[role].commands];
}

/**
 * The rules of a user, as arguments of `ACL SETUSER NAME reset on #HASH`.
 * @throws RangeError when a worker's namespace is missing: its pattern would be empty
 */
export function aclRules(scope: RedisUserScope): readonly string[] {
  if (scope.role === "worker" && !scope.namespace) throw new RangeError("a worker's Redis user needs its namespace");
  const pattern = keysOf(scope);
  return [`~${pattern}`, "resetchannels", `&${pattern}`, ...commandRules(scope.role)];
}

/** Start of the names of all users of an instance. Instances and namespaces are DNS labels: no `_` in them, so that no two scopes share a name. */
export function userPrefix(instance: string): string {
  return `davit_${instance}_`;
}

/** Name of a user. Needs no encoding in a URL. */
export function userName({ role, instance, namespace }: RedisUserScope): string {
  return `${userPrefix(instance)}${role}${role === "worker" ? `_${namespace ?? ""}` : ""}`;
}
