import type { Lease } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import type { Clock } from "../../../lib/clock.ts";
import {
  OBSERVATIONS_ANNOTATION,
  parseObservations,
  type RouteObservation,
  sumObservations,
} from "../../../routes/observations.ts";
import { FINE, judge, type Verdict } from "./verdict.ts";

/** What a gateway said longer ago than this no longer counts, ms: it is gone, or cannot reach the API server. */
const SILENT_MS = 30_000;

interface Told {
  readonly text: string | undefined;
  readonly routes: ReadonlyMap<string, RouteObservation>;
  /** Unix ms at which its Lease was seen to be renewed. */
  readonly renewTime: string | undefined;
  readonly heardAt: number;
}

/** What is observed of a route, and what to make of it. */
export interface Observed {
  readonly verdict: Verdict;
  /** All gateways together. */
  readonly sum: RouteObservation;
}

/** What the gateways tell on their Leases of the requests of each route, summed up. */
export class GatewayObservations {
  readonly #clock: Pick<Clock, "now">;
  readonly #leases = new Map<string, Told>();
  readonly #verdicts = new Map<string, Verdict>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * A serving Lease as the watch shows it; `undefined`: gone.
   * @returns keys of the routes of which another thing is to be said now. Counts alone are no news
   */
  putLease(name: string, lease: Live<Lease> | undefined): readonly string[] {
    const before = this.#leases.get(name);
    const next = lease && read(lease, before, this.#clock.now());
    if (next === undefined) this.#leases.delete(name);
    else this.#leases.set(name, next);
    if (next !== undefined && before?.routes === next.routes && this.#speaks(before)) return [];
    const concerned = [before, next].flatMap((told) => [...(told?.routes.keys() ?? [])]);
    return [...new Set(concerned)].filter((key) => this.#isNews(key));
  }

  /** @param route its key. @returns `undefined` while no gateway says anything */
  of(route: string): Observed | undefined {
    return this.#alive().length === 0 ? undefined : this.#look(route);
  }

  #isNews(key: string): boolean {
    const { isFailing, isSlow } = this.#verdicts.get(key) ?? FINE;
    const { verdict } = this.#look(key);
    return verdict.isFailing !== isFailing || verdict.isSlow !== isSlow;
  }

  #look(key: string): Observed {
    const seen = this.#alive().flatMap(({ routes }) => routes.get(key) ?? []);
    const sum = sumObservations([seen]).get(key) ?? { key, requests: 0, verified: 0, refused: 0, slow: 0 };
    const verdict = judge(sum, this.#verdicts.get(key));
    if (verdict.isFailing || verdict.isSlow) this.#verdicts.set(key, verdict);
    else this.#verdicts.delete(key);
    return { verdict, sum };
  }

  #alive(): readonly Told[] {
    return [...this.#leases.values()].filter((told) => this.#speaks(told));
  }

  #speaks({ heardAt }: Told): boolean {
    return this.#clock.now() - heardAt <= SILENT_MS;
  }
}

/** By our own clock: the gateway's does not matter. */
function read({ metadata, spec }: Live<Lease>, before: Told | undefined, now: number): Told {
  const text = metadata.annotations?.[OBSERVATIONS_ANNOTATION];
  const renewTime = spec?.renewTime;
  return {
    text,
    routes:
      before !== undefined && before.text === text
        ? before.routes
        : new Map(parseObservations(text).map((seen) => [seen.key, seen])),
    renewTime,
    heardAt: before !== undefined && before.renewTime === renewTime ? before.heardAt : now,
  };
}
