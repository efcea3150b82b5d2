import { COMPONENT_LABEL, leaderLeaseName } from "../../../api/names.ts";
import { LEASES } from "../../../kube/core-types.ts";
import { isConflict } from "../../../kube/errors.ts";
import { type Live, refOf } from "../../../kube/objects.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sleep, systemTimers, type Timers } from "../../../lib/timers.ts";
import type { Metrics } from "../../../observability/metrics.ts";
import { signingRef as destinationsRef } from "../../webhook-destination/destination-index.ts";
import { WEBHOOK_DESTINATIONS } from "../../webhook-destination/destination-types.ts";
import type { ChildKind } from "./child-kinds.ts";
import { childScope } from "./child-scope.ts";
import { exposedHosts } from "../exposure/host-reconciler.ts";
import type { Operator } from "../operator.ts";
import { claimIn, entryIn, namespaceOf } from "../publishing/publications.ts";
import type { RingSecret } from "../publishing/rings.ts";
import { signingRef } from "../watching/route-index.ts";
import { WEBHOOK_ROUTES } from "../route-types.ts";
import { scopeKey, scopesOfRoute } from "../workers/worker-scope.ts";

/** The first look after this process began to lead, and the time between two, ms. */
const FIRST_MS = 2_000;
const PERIOD_MS = 300_000;
/** Waiting for caches, ms. */
const SYNC_POLL_MS = 1_000;
/** Orphans taken a second. */
const PER_SECOND = 10;
/** A sweep that would take more than this share of what there is, and at least that many objects, takes nothing: something else is wrong. */
const MAX_SHARE = 0.2;
const MIN_ALARM = 10;
const REMEDY =
  "too much has lost its route or destination at once; if that is meant, delete the objects by hand, else restore the WebhookRoutes and WebhookDestinations";

export interface SweepOptions {
  readonly metrics: Pick<Metrics, "sweepHeld">;
  /** Whether all caches are complete. */
  readonly isSynced: () => boolean;
  readonly clock: Clock;
  readonly timers?: Timers;
  readonly firstMs?: number;
  readonly periodMs?: number;
}

/** Something of a kind whose reason to be is gone. */
interface Orphan {
  /** For people: `namespace/name`. */
  readonly name: string;
  readonly namespace: string;
  readonly take: (signal: AbortSignal) => Promise<void>;
}

/** Orphans of one sort, and how many objects of the sort there are. */
interface Finding {
  readonly what: "entries" | "destinations" | "workers" | "exposures" | "rings";
  /** Namespace of each object, orphan or not. */
  readonly namespaces: readonly string[];
  readonly orphans: readonly Orphan[];
}

/** Whether a sweep may take so many of so many. */
export function isPlausible(orphans: number, total: number): boolean {
  return orphans < MIN_ALARM || orphans <= total * MAX_SHARE;
}

/**
 * Namespaces of which a sweep would take suspiciously much. One that is gone took everything with it: that is no accident of its own.
 *
 * @param orphans namespace of each
 * @param all namespace of each object, orphan or not
 */
export function implausibleNamespaces(
  orphans: readonly string[],
  all: readonly string[],
  exists: (namespace: string) => boolean,
): ReadonlySet<string> {
  const [lost, total] = [countOf(orphans), countOf(all)];
  const held = [...lost].filter(([name, count]) => exists(name) && !isPlausible(count, total.get(name) ?? 0));
  return new Set(held.map(([name]) => name));
}

function countOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/**
 * Finds what no event told of: objects whose route went while nobody watched. Each is only handed to its controller, which asks the API server before
 * it takes anything, slowly; and nothing is taken when it would be suspiciously much, as after a restore of half a cluster.
 */
export class Sweep {
  readonly #operator: Operator;
  readonly #options: SweepOptions;
  readonly #timers: Timers;
  /** Sorts of which not everything is taken. */
  readonly #held = new Set<Finding["what"]>();

  constructor(operator: Operator, options: SweepOptions) {
    this.#operator = operator;
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
  }

  async run(signal: AbortSignal): Promise<void> {
    await sleep(this.#timers, this.#options.firstMs ?? FIRST_MS, signal);
    while (!signal.aborted) {
      if (!this.#options.isSynced()) {
        await sleep(this.#timers, SYNC_POLL_MS, signal);
        continue;
      }
      await this.#round(signal);
      await sleep(this.#timers, this.#options.periodMs ?? PERIOD_MS, signal);
    }
  }

  /** Keys of all workers that there are or should be. */
  scopes(): Set<string> {
    const { publications, children } = this.#operator;
    const scopes = new Set<string>();
    for (const secret of publications.all()) {
      const entry = entryIn(secret);
      for (const scope of entry === undefined ? [] : scopesOfRoute(entry)) scopes.add(scopeKey(scope));
    }
    for (const { object } of children.list()) {
      const scope = childScope(object);
      if (scope !== undefined) scopes.add(scope);
    }
    return scopes;
  }

  /** Namespaces that have or had routes. */
  namespaces(): Set<string> {
    const { routes, publications } = this.#operator;
    return new Set([...routes.namespaces(), ...[...publications.all()].map(namespaceOf)]);
  }

  async #round(signal: AbortSignal): Promise<void> {
    for (const finding of [this.#entries(), this.#destinations(), this.#exposures(), this.#rings()]) {
      const { what } = finding;
      const held = this.#heldOf(finding);
      this.#options.metrics.sweepHeld.set({ what }, held.orphans.length);
      if (held.orphans.length > 0) await this.#alarm(held, signal);
      else this.#held.delete(what);
      for (const { name, take } of finding.orphans.filter((orphan) => !held.orphans.includes(orphan))) {
        if (signal.aborted) return;
        this.#operator.logger.info({ what, name }, "swept: what it was made for is gone");
        await take(signal).catch((error: unknown) => {
          if (!isConflict(error)) this.#operator.logger.warn({ what, name, err: error }, "could not be swept");
        });
        await sleep(this.#timers, 1_000 / PER_SECOND, signal);
      }
    }
  }

  /** What is not taken of a finding: everything, or what a namespace lost too much of, and how much there is where that was found. */
  #heldOf(finding: Finding): Finding {
    const { orphans, namespaces } = finding;
    if (!isPlausible(orphans.length, namespaces.length)) return finding;
    const lost = orphans.map(({ namespace }) => namespace);
    const exists = (namespace: string) => this.#operator.namespace(namespace) !== undefined;
    const held = implausibleNamespaces(lost, namespaces, exists);
    return {
      what: finding.what,
      namespaces: namespaces.filter((namespace) => held.has(namespace)),
      orphans: orphans.filter(({ namespace }) => held.has(namespace)),
    };
  }

  /** Entries of routes that the cache does not have. Claims that were released already just run out. */
  #entries(): Finding {
    const { publications, routes, enqueue } = this.#operator;
    const all = [...publications.all()].filter(({ route }) => route !== "");
    for (const secret of all) {
      if (claimIn(secret)?.releasedAt !== undefined) enqueue.route(secret.route);
    }
    const served = all.filter((secret) => entryIn(secret) !== undefined);
    const orphans = served
      .filter(({ route }) => routes.get(route) === undefined)
      .map((secret) => ({
        name: secret.route,
        namespace: namespaceOf(secret),
        take: async () => enqueue.route(secret.route),
      }));
    return { what: "entries", namespaces: served.map(namespaceOf), orphans };
  }

  /** Publications of WebhookDestinations that the cache does not have. */
  #destinations(): Finding {
    const { destinations, enqueue } = this.#operator;
    const all = [...destinations.publications.all()].filter(({ key }) => key !== "");
    const orphans = all
      .filter(({ key }) => destinations.index.get(key) === undefined)
      .map(({ key }) => ({
        name: key,
        namespace: refOf(key).namespace ?? "",
        take: async () => enqueue.destination(key),
      }));
    return { what: "destinations", namespaces: all.map(({ key }) => refOf(key).namespace ?? ""), orphans };
  }

  /** Objects of hosts that are no longer in the config. */
  #exposures(): Finding {
    const { children, config } = this.#operator;
    const all = [...children.list()].filter(({ object }) => object.metadata.labels?.[COMPONENT_LABEL] === "ingress");
    const orphans = all
      .filter(({ object }) => exposedHosts(object, config).length === 0)
      .map(({ kind, object }) => this.#child(kind, object));
    return { what: "exposures", namespaces: all.map(({ object }) => object.metadata.namespace ?? ""), orphans };
  }

  /** Rings of keys that nobody signs with. */
  #rings(): Finding {
    const { rings, routes, destinations } = this.#operator;
    const used = new Set<string>();
    for (const key of routes.keys()) {
      const route = routes.get(key);
      const ref = route === undefined ? undefined : signingRef(route);
      const namespace = route?.metadata.namespace ?? "";
      if (ref !== undefined) used.add(`${namespace}/${rings.nameOf({ namespace, ...ref })}`);
    }
    const all = [...rings.all()];
    const orphans = all
      .filter(({ namespace, name }) => !used.has(`${namespace}/${name}`))
      .filter(({ namespace, name }) => destinations.index.ofRing(namespace, name).length === 0)
      .map((ring) => ({
        name: `${ring.namespace}/${ring.name}`,
        namespace: ring.namespace,
        take: (signal: AbortSignal) => this.#takeRing(ring, signal),
      }));
    return { what: "rings", namespaces: all.map(({ namespace }) => namespace), orphans };
  }

  /** Asked of the API server itself: the previous keys live nowhere else. */
  async #takeRing(ring: RingSecret, signal: AbortSignal): Promise<void> {
    const { rings, client } = this.#operator;
    const { namespace } = ring;
    const [routes, destinations] = await Promise.all([
      client.resource(WEBHOOK_ROUTES).list(namespace, { signal }),
      client.resource(WEBHOOK_DESTINATIONS).list(namespace, { signal }),
    ]);
    const refs = [
      ...routes.items.flatMap((route) => signingRef(route) ?? []),
      ...destinations.items.flatMap((one) => destinationsRef(one) ?? []),
    ];
    const isUsed = refs.some((ref) => rings.nameOf({ namespace, ...ref }) === ring.name);
    if (!isUsed) await rings.remove(ring);
  }

  #child(kind: ChildKind, object: Live): Orphan {
    const { namespace = "", name } = object.metadata;
    return {
      name: `${kind} ${namespace}/${name}`,
      namespace,
      take: (signal) => this.#operator.children.remove(kind, object, signal),
    };
  }

  /** In the log at each round; one Event when it begins, on the leader's Lease: what has lost its route has no object to tell of it. */
  async #alarm({ what, orphans, namespaces }: Finding, signal: AbortSignal): Promise<void> {
    const total = namespaces.length;
    const { logger, client, config, events } = this.#operator;
    const examples = orphans.slice(0, 5).map(({ name }) => name);
    logger.error({ what, orphans: orphans.length, total, examples }, `nothing is swept: ${REMEDY}`);
    if (this.#held.has(what)) return;
    const ref = { namespace: config.namespace, name: leaderLeaseName(config.instance) };
    const lease = await client
      .resource(LEASES)
      .find(ref, { signal })
      .catch(() => undefined);
    if (lease === undefined) return;
    this.#held.add(what);
    const note = `${orphans.length} of ${total} ${what} have lost their ${what === "destinations" ? "WebhookDestination" : "WebhookRoute"}, and none of them is removed: ${REMEDY}; among them are ${examples.join(", ")}`;
    const regarding = { ...lease, apiVersion: `${LEASES.group}/${LEASES.version}`, kind: LEASES.kind };
    events.record(regarding, { type: "Warning", reason: "SweepHeld", action: "Sweep", note });
  }
}
