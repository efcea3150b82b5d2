import { createHash, randomBytes } from "node:crypto";
import { type CustodyErrorCode } from "../port.ts";
import { connect, type RedisUrl } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { aclRules, type RedisUserScope, userName, userPrefix } from "./user-rules.ts";

/** A user as it must be on every node. */
export interface RedisUser extends RedisUserScope {
  readonly password: string;
  /** Still accepted, while processes that read a Secret late go on with it. */
  readonly previousPassword?: string | undefined;
}

/** One Redis server, of which the caller is an administrator. */
export interface AclNode {
  /** Host and port, for messages. */
  readonly name: string;
  acl(...args: readonly string[]): Promise<unknown>;
}

/** What one round did. Names of users, never a password. */
export interface UsersReport {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Nodes on which something failed; the others are right. */
  readonly failed: readonly { readonly node: string; readonly code: CustodyErrorCode }[];
}

/**
 * Keeps the ACL users of an instance as they must be, on every node: level-triggered, since a node that was restarted, added or failed over to knows
 * none. To be called after a (re)connection, when a password changed, and every some seconds.
 */
export class RedisUsers {
  readonly #nodes: readonly AclNode[];
  readonly #instance: string;
  /** By node and rules: how the server writes these rules itself. It is learnt from the first user that is set. */
  readonly #canonical = new Map<string, string>();

  constructor(nodes: readonly AclNode[], instance: string) {
    this.#nodes = nodes;
    this.#instance = instance;
  }

  /** @param isComplete `users` are all of this instance: others with its prefix are removed, and their connections end */
  async ensure(users: readonly RedisUser[], isComplete = false): Promise<UsersReport> {
    const changed = new Set<string>();
    const removed = new Set<string>();
    const failed: { node: string; code: CustodyErrorCode }[] = [];
    const visits = this.#nodes.map(async (node) => {
      try {
        for (const user of users) if (await this.#ensureUser(node, user)) changed.add(userName(user));
        if (isComplete) for (const name of await this.#prune(node, users)) removed.add(name);
      } catch (error) {
        failed.push({ node: node.name, code: asCustodyError(error).code });
      }
    });
    await Promise.all(visits);
    return { changed: [...changed].toSorted(), removed: [...removed].toSorted(), failed };
  }

  async #ensureUser(node: AclNode, user: RedisUser): Promise<boolean> {
    const name = userName(user);
    const rules = aclRules(user);
    const key = `${node.name} ${rules.join(" ")}`;
    const canonical = this.#canonical.get(key);
    const wanted = fingerprint({ passwords: hashesOf(user), rules });
    const before = describe(await node.acl("GETUSER", name));
    if (canonical !== undefined && before?.commands === canonical && before.fingerprint === wanted) return false;
    // Hashes, not passwords: no command log of the server can hold one.
    await node.acl("SETUSER", name, "reset", "on", ...hashesOf(user).map((hash) => `#${hash}`), ...rules);
    const after = describe(await node.acl("GETUSER", name));
    if (after !== undefined) this.#canonical.set(key, after.commands);
    return JSON.stringify(before) !== JSON.stringify(after);
  }

  async #prune(node: AclNode, users: readonly RedisUser[]): Promise<readonly string[]> {
    const wanted = new Set(users.map(userName));
    const listed = await node.acl("USERS");
    const names = Array.isArray(listed) ? listed.map(String) : [];
    const surplus = names.filter((name) => name.startsWith(userPrefix(this.#instance)) && !wanted.has(name));
    if (surplus.length > 0) await node.acl("DELUSER", ...surplus);
    return surplus;
  }
}

/**
 * A server by its URL, on a connection of its own; the URL's user is its administrator.
 * @param onReconnect called when the connection is there again: the server may be another one, or know nobody any more
 */
export function aclNode(url: RedisUrl, onReconnect?: () => void): AclNode & { readonly close: () => void } {
  const redis = connect(url, { enableOfflineQueue: true });
  let isFirst = true;
  redis.on("ready", () => {
    if (!isFirst) onReconnect?.();
    isFirst = false;
  });
  const { host } = new URL(typeof url === "string" ? url : url());
  return {
    name: host,
    acl: (...args) => redis.call("ACL", ...args),
    close: () => redis.disconnect(),
  };
}

/** A password that nobody has to type, 192 bits, safe in a URL. */
export function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

/** The URL of a server for a user: what a Secret holds. */
export function urlFor(url: string, { user, password }: { readonly user: string; readonly password: string }): string {
  const result = new URL(url);
  result.username = encodeURIComponent(user);
  result.password = encodeURIComponent(password);
  return result.href;
}

function hashesOf({ password, previousPassword }: RedisUser): readonly string[] {
  const passwords = previousPassword === undefined ? [password] : [password, previousPassword];
  return [...new Set(passwords.map((text) => createHash("sha256").update(text).digest("hex")))].toSorted();
}

interface Described {
  /** The server's own way to write the rules. */
  readonly commands: string;
  /** Everything else about the user. */
  readonly fingerprint: string;
}

function fingerprint(user: { readonly passwords: readonly string[]; readonly rules: readonly string[] }): string {
  const [keys = "", , channels = ""] = user.rules;
  return JSON.stringify({ on: true, open: false, passwords: user.passwords, keys, channels, selectors: 0 });
}

/** Reads the reply of `ACL GETUSER`: names and values in turn. `undefined`: there is no such user. */
function describe(reply: unknown): Described | undefined {
  if (!Array.isArray(reply)) return undefined;
  const fields = new Map<string, unknown>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), reply[i + 1]);
  const list = (name: string): string[] => {
    const value = fields.get(name);
    return Array.isArray(value) ? value.map(String) : [];
  };
  const flags = list("flags");
  const user = {
    on: flags.includes("on"),
    open: flags.includes("nopass"),
    passwords: list("passwords").toSorted(),
    keys: String(fields.get("keys")),
    channels: String(fields.get("channels")),
    selectors: list("selectors").length,
  };
  return { commands: String(fields.get("commands")), fingerprint: JSON.stringify(user) };
}
