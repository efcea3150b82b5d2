import { forerunnerRefusal, forerunnersIn } from "../../controllers/webhook-route/custody/forerunner.ts";
import type { Refusal } from "../../controllers/webhook-route/exposure/host-policy.ts";
import type { RedisAccess } from "../../controllers/webhook-route/custody/redis-access.ts";
import { CustodyError, type CustodyErrorCode } from "../../custody/port.ts";
import { asCustodyError } from "../../custody/redis/errors.ts";
import { type RedisUserScope, userName, userPrefix } from "../../custody/redis/user-rules.ts";
import { aclNode, newPassword, type RedisUser, RedisUsers, urlFor } from "../../custody/redis/users.ts";
import type { OrphanedRoute } from "../../custody/shelves.ts";
import { sleep, systemTimers } from "../../lib/timers.ts";
import type { Logger } from "../../observability/logger.ts";

/** A password that was replaced stays good for this long, ms: a kubelet takes up to two minutes to bring the new one to a Pod. */
const PREVIOUS_MS = 600_000;
/** Every user is looked at this often, ms: a Redis that was restarted or failed over knows none. */
const AGAIN_MS = 5_000;
/** And what is left of namespaces without routes, ms. */
const LEFT_MS = 600_000;
/** Refusals that do not end by waiting. `Script`: a server that does not know the command, as some managed ones. */
const REFUSALS: readonly CustodyErrorCode[] = ["Denied", "Script"];
const REMEDY =
  "Redis does not let the controller's user set users (ACL SETUSER): give it +acl, or set redis.users to Provided and make the users by docs/redis-users.md";

export interface ProvisionedUsersOptions {
  /** URL of an administrator: the controller's own. Asked again whenever it is used. */
  readonly url: () => string;
  readonly instance: string;
  readonly logger: Logger;
  readonly isLeader: () => boolean;
  /** What is on the shelves of a namespace. Rejects when the store does not say. */
  readonly orphans: (namespace: string) => Promise<readonly OrphanedRoute[]>;
}

interface Granted {
  readonly password: string;
  readonly previous?: { readonly password: string; readonly until: number };
}

/** The users of an instance on one Redis, with their passwords as the Secrets have them. Nothing of a password or URL is ever logged. */
export class ProvisionedUsers implements RedisAccess {
  readonly #options: ProvisionedUsersOptions;
  readonly #node: ReturnType<typeof aclNode>;
  readonly #users: RedisUsers;
  /** By name of the user. */
  readonly #granted = new Map<string, Granted & { readonly scope: RedisUserScope }>();
  /** Why namespaces get no user: see {@link hasForerunner}. */
  readonly #held = new Map<string, Refusal>();
  #isRefused = false;

  constructor(options: ProvisionedUsersOptions) {
    this.#options = options;
    // A server that was restarted has forgotten everybody but its administrator.
    this.#node = aclNode(options.url, () => void this.#ensureAll());
    this.#users = new RedisUsers([this.#node], options.instance);
  }

  newUrl(namespace: string): string {
    return this.newUrlOf(this.#scope(namespace));
  }

  isUsable(namespace: string, url: string): boolean {
    return this.isUsableFor(this.#scope(namespace), url);
  }

  grant(namespace: string, url: string): Promise<void> {
    return this.grantTo(this.#scope(namespace), url);
  }

  /** A URL for a user, with a new password. */
  newUrlOf(scope: RedisUserScope): string {
    return this.#url(scope, newPassword());
  }

  /** Whether a URL is one of this Redis for the user. */
  isUsableFor(scope: RedisUserScope, url: string): boolean {
    const password = passwordIn(url);
    return password !== undefined && this.#url(scope, password) === url;
  }

  /**
   * Makes a user so, with the password of the URL, and keeps it so.
   * @throws CustodyError
   */
  async grantTo(scope: RedisUserScope, url: string): Promise<void> {
    const password = passwordIn(url) ?? "";
    const name = userName(scope);
    const before = this.#granted.get(name);
    const now = systemTimers.now();
    const previous =
      before === undefined || before.password === password
        ? before?.previous
        : { password: before.password, until: now + PREVIOUS_MS };
    this.#granted.set(name, { scope, password, ...(previous && { previous }) });
    await this.#ensure([name]);
  }

  async revoke(namespace: string): Promise<boolean> {
    if ((await this.#options.orphans(namespace)).length > 0) return false;
    const name = userName(this.#scope(namespace));
    this.#granted.delete(name);
    await this.#ask(() => this.#node.acl("DELUSER", name));
    return true;
  }

  async hasForerunner(namespace: string, namespaceUid: string): Promise<boolean> {
    const refusal = forerunnerRefusal(namespace, forerunnersIn(await this.#options.orphans(namespace), namespaceUid));
    if (refusal === undefined) this.#held.delete(namespace);
    else this.#held.set(namespace, refusal);
    return refusal !== undefined;
  }

  problem(namespace: string): Refusal | undefined {
    return this.#isRefused ? { reason: "RedisUsersRefused", message: REMEDY } : this.#held.get(namespace);
  }

  /**
   * Keeps the users that were granted, until the signal fires.
   * @param look is given namespaces that have a user on the server, whoever granted it
   */
  async lead(signal: AbortSignal, look: (namespace: string) => void): Promise<void> {
    const { instance } = this.#options;
    const prefix = `${userPrefix(instance)}worker_`;
    let lookedAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      await this.#ensureAll();
      const now = systemTimers.monotonic();
      if (now - lookedAt >= LEFT_MS) {
        const listed = await this.#ask(() => this.#node.acl("USERS")).catch(() => undefined);
        const names = Array.isArray(listed) ? listed.map(String) : [];
        for (const name of names) if (name.startsWith(prefix)) look(name.slice(prefix.length));
        if (listed !== undefined) lookedAt = now;
      }
      await sleep(systemTimers, AGAIN_MS, signal);
    }
    this.#granted.clear();
  }

  close(): void {
    this.#node.close();
  }

  async #ensureAll(): Promise<void> {
    try {
      if (this.#options.isLeader()) await this.#ensure([...this.#granted.keys()]);
    } catch {
      // Said once by {@link #note}, and tried again.
    }
  }

  /** @throws CustodyError */
  async #ensure(names: readonly string[]): Promise<void> {
    const now = systemTimers.now();
    const wanted = names.flatMap((name): RedisUser[] => {
      const found = this.#granted.get(name);
      if (found === undefined) return [];
      const { scope, password, previous } = found;
      return [{ ...scope, password, previousPassword: (previous?.until ?? 0) > now ? previous?.password : undefined }];
    });
    if (wanted.length === 0) return;
    const { failed, changed } = await this.#users.ensure(wanted);
    if (changed.length > 0) this.#options.logger.info({ users: changed }, "users of Redis were set");
    const [first] = failed;
    this.#note(first?.code);
    if (first !== undefined) throw new CustodyError(first.code, `users could not be set on ${first.node}`);
  }

  async #ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw asCustodyError(error);
    }
  }

  #note(code: CustodyErrorCode | undefined): void {
    // A server that is away neither refuses nor agrees.
    if (code !== undefined && !REFUSALS.includes(code)) return;
    const isRefused = code !== undefined;
    if (isRefused === this.#isRefused) return;
    this.#isRefused = isRefused;
    if (isRefused) this.#options.logger.error({ code }, REMEDY);
    else this.#options.logger.info("Redis lets the controller set users again");
  }

  #scope(namespace: string): RedisUserScope {
    return { role: "worker", instance: this.#options.instance, namespace };
  }

  #url(scope: RedisUserScope, password: string): string {
    return urlFor(this.#options.url(), { user: userName(scope), password });
  }
}

function passwordIn(url: string): string | undefined {
  const password = URL.parse(url)?.password;
  return password ? decodeURIComponent(password) : undefined;
}
