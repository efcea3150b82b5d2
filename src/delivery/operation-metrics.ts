import type { OperatedCopies } from "../custody/redis/janitor.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { WorkerConfiguration } from "./destinations.ts";

/**
 * Counts what operators did to copies. The store tells each to one worker of the namespace, whoever did it: a program that replays ends before anybody
 * reads its metrics.
 */
export class OperationMetrics {
  readonly #metrics: Metrics | undefined;
  readonly #configuration: () => WorkerConfiguration;

  constructor(metrics: Metrics | undefined, configuration: () => WorkerConfiguration) {
    this.#metrics = metrics;
    this.#configuration = configuration;
  }

  /** A route that this worker does not know is counted under its key. */
  count({ what, route, copies }: OperatedCopies): void {
    const { namespace, name } = this.#routeOf(route);
    if (what === "replayed") this.#metrics?.replayed.labels(namespace, name).inc(copies);
    else this.#metrics?.discarded.inc({ namespace, route: name }, copies);
  }

  #routeOf(route: string): { readonly namespace: string; readonly name: string } {
    const configuration = this.#configuration();
    const known = configuration.routes?.get(route);
    if (known !== undefined) return known;
    const [any] = configuration.values();
    const own = [...configuration.values()].find(({ policy }) => policy.policy.route === route);
    return { namespace: own?.namespace ?? any?.namespace ?? "", name: own?.routeName ?? route };
  }
}
