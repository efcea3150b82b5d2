import { workerName } from "../../api/names.ts";
import { destinationProblem, entryProblem } from "../../routes/entry-check.ts";
import type { DestinationEntry, RouteEntry } from "../../routes/entry.ts";
import {
  decodeWorkerConfig,
  mergeDestinations,
  mergeWorkerConfigs,
  type WorkerConfig,
} from "../../routes/worker-config.ts";

/** Something of the config that cannot be used; an older version of it is, if there was one. */
export interface ConfigRejection {
  readonly code: "Malformed" | "TooNew";
  readonly message: string;
}

/**
 * A worker's config from its parts. Pure: parts come in with `observe` in any order; `routes` is what to go by. A part or an entry that cannot be used
 * leaves the last good one in force.
 */
export class ConfigParts {
  readonly #good = new Map<number, WorkerConfig>();
  readonly #rejectedParts = new Map<number, ConfigRejection>();
  readonly #rejectedRoutes = new Map<string, ConfigRejection>();
  #routes = new Map<string, RouteEntry>();
  #destinations = new Map<string, DestinationEntry>();
  /** Parts of the config in force; 0 before there is one. */
  #count = 0;
  #seq = 0;

  /** How many parts there are, as part 0 says; 1 as long as that is not known. */
  get parts(): number {
    return this.#good.get(0)?.parts ?? 1;
  }

  /** Highest stamp of the config in force. */
  get seq(): number {
    return this.#seq;
  }

  /** By part number, by `namespace/name` of a route, or as `destination ~<id>`. */
  get rejected(): ReadonlyMap<string, ConfigRejection> {
    return new Map([
      ...[...this.#rejectedParts].map(([part, rejection]) => [`part ${part}`, rejection] as const),
      ...this.#rejectedRoutes,
    ]);
  }

  /** The routes; `undefined` until every part was seen once. */
  get routes(): readonly RouteEntry[] | undefined {
    return this.#count > 0 ? [...this.#routes.values()] : undefined;
  }

  /** WebhookDestinations; none until every part was seen once. */
  get destinations(): readonly DestinationEntry[] {
    return [...this.#destinations.values()];
  }

  /** @param bytes of a config Secret. One that is gone is no reason to change anything: its workers go, or it is written again */
  observe(part: number, bytes: Buffer): void {
    const reading = decodeWorkerConfig(bytes);
    if (!reading.ok) {
      this.#rejectedParts.set(part, reading);
      return;
    }
    this.#rejectedParts.delete(part);
    this.#good.set(part, reading.config);
    this.#merge();
  }

  /** While the number of parts changes, they disagree on it: what was known stays until all have been written. */
  #merge(): void {
    const parts: WorkerConfig[] = [];
    for (let part = 0; part < this.parts; part += 1) {
      const config = this.#good.get(part);
      if (config?.parts !== this.parts) return;
      parts.push(config);
    }
    // What is not a part any more must not pass for one when there are more again.
    for (let part = this.parts; part < this.#count; part += 1) {
      this.#good.delete(part);
      this.#rejectedParts.delete(part);
    }
    this.#count = this.parts;
    this.#seq = Math.max(0, ...parts.map(({ seq }) => seq));
    this.#take(mergeWorkerConfigs(parts));
    this.#takeShared(mergeDestinations(parts));
  }

  #take(routes: readonly RouteEntry[]): void {
    const next = new Map<string, RouteEntry>();
    this.#rejectedRoutes.clear();
    for (const entry of routes) {
      const problem = entryProblem(entry);
      const usable = problem === undefined ? entry : this.#routes.get(entry.route);
      if (usable) next.set(entry.route, usable);
      if (problem === undefined) continue;
      const { code } = problem;
      const message =
        code === "TooNew"
          ? `needs a reader of schema ${problem.minReader}: upgrade the workers`
          : `has no usable ${problem.field}: it is written again when its route changes`;
      this.#rejectedRoutes.set(`${entry.namespace}/${entry.name}`, { code, message: `the route's entry ${message}` });
    }
    this.#routes = next;
  }

  #takeShared(destinations: readonly DestinationEntry[]): void {
    const next = new Map<string, DestinationEntry>();
    for (const entry of destinations) {
      const problem = destinationProblem(entry);
      const usable = problem === undefined ? entry : this.#destinations.get(entry.id);
      if (usable) next.set(entry.id, usable);
      if (problem?.code !== "Malformed") continue;
      const message = `the destination's entry has no usable ${problem.field}: it is written again when it changes`;
      this.#rejectedRoutes.set(`destination ${entry.id}`, { code: problem.code, message });
    }
    this.#destinations = next;
  }
}

/** Whose tickets a worker takes. */
export type Ownership =
  /** The shared workers of a namespace. */
  | { readonly type: "shared" }
  /** Those of one route. */
  | { readonly type: "dedicated"; readonly route: RouteEntry };

/** What tells whose workers these are. */
export interface WorkerPlace {
  readonly instance: string;
  /** Whose events they deliver. */
  readonly namespace: string;
  /** Start of the names of their config Secrets, which is their own name. */
  readonly configName: string;
}

/**
 * Whose workers these are, by their name.
 *
 * @returns `undefined` for those of a route that is not among `routes`
 */
export function ownershipOf(
  { instance, namespace, configName }: WorkerPlace,
  routes: readonly RouteEntry[],
): Ownership | undefined {
  const shared = [false, true].map((inReleaseNamespace) => workerName(instance, { namespace }, inReleaseNamespace));
  if (shared.includes(configName)) return { type: "shared" };
  const route = routes.find(({ name }) => workerName(instance, { namespace, route: name }) === configName);
  return route && { type: "dedicated", route };
}

/**
 * Whether the tickets of a destination belong in the queue of these workers. Shared ones leave those of dedicated routes and of routes they know
 * nothing of (which may be dedicated) to others: they take them with the config that names the route.
 */
export function ownsOf(ownership: Ownership, routes: readonly RouteEntry[]): (destination: string) => boolean {
  const keys =
    ownership.type === "dedicated"
      ? new Set([ownership.route.route])
      : new Set(routes.filter(({ worker }) => !worker.dedicated).map(({ route }) => route));
  const isShared = ownership.type === "shared";
  return (destination) =>
    destination.startsWith("~") ? isShared : keys.has(destination.slice(0, Math.max(0, destination.indexOf("/"))));
}
