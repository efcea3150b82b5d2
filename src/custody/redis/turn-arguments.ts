import type { DestinationPolicy, RoutePolicy, Settle, TurnRequest } from "../port.ts";
import type { GateOutcome } from "../gate.ts";
import { gateArgument } from "./gates.ts";
import { policyArgument } from "./inbox.ts";

/** A lease outlives the exchange's timeout by this much, so that an outcome can be settled. */
export const LEASE_MARGIN_MS = 5_000;

const OUTCOMES: Readonly<Record<Settle["outcome"], string>> = {
  delivered: "D",
  retry: "L",
  dead: "X",
  handedBack: "B",
  parked: "P",
  ignored: "I",
  expired: "E",
};

const EFFECTS: Readonly<Record<Exclude<GateOutcome["type"], "neutral">, string>> = {
  success: "S",
  failure: "F",
  rejected: "R",
  hold: "P",
  gone: "G",
};

/** What the script `turn` is given, see there, and the destinations that its answer names by their place. */
export interface TurnArguments {
  readonly args: (string | number)[];
  readonly destinations: readonly string[];
}

/** @param token of this process */
export function turnArguments(token: string, request: TurnRequest): TurnArguments {
  const policies = new Policies(request.policies);
  const settles = request.settles.map((settle) => {
    const { eventId, fence, outcome, record, delayMs = 0 } = settle;
    const head = `${policies.of(settle.destination, settle.policy)} ${eventId} ${fence} ${OUTCOMES[outcome]} ${record.attempt} ${Math.ceil(delayMs)}`;
    return `${head}${effectOf(settle)}\n${JSON.stringify(record)}`;
  });
  const rest: (string | number)[] = [];
  for (const { destination, want, started } of request.takes) rest.push(policies.of(destination), want, started ?? "");
  const adoptions = [...(request.adopt ?? [])];
  for (const [destination, mine] of adoptions) {
    rest.push(policies.of(destination), mine.length);
    for (const { eventId, fence } of mine) rest.push(eventId, fence);
  }
  const { frames, lines } = policies;
  const counts = [settles.length, request.takes.length, adoptions.length];
  return {
    args: [token, frames, lines, ...counts, ...settles, ...rest],
    destinations: [...request.policies.keys()],
  };
}

/** The policies a turn goes by. Most of their text is the same for many destinations: it is sent once. */
class Policies {
  readonly #known: ReadonlyMap<string, DestinationPolicy>;
  /** Places of destinations in the request. */
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #frames = new Map<string, number>();
  readonly #lines = new Map<string, number>();

  constructor(known: ReadonlyMap<string, DestinationPolicy>) {
    this.#known = known;
    this.#indexes = new Map([...known.keys()].map((destination, index) => [destination, index]));
  }

  /**
   * The place of a destination's policy, from 1.
   * @param routePolicy the route's of the copy, where that is not the destination's own
   * @throws {RangeError} the request has none
   */
  of(destination: string, routePolicy?: RoutePolicy): number {
    const own = this.#known.get(destination);
    if (own === undefined) throw new RangeError(`turn: no policy for destination ${destination}`);
    const frame = placeIn(this.#frames, frameOf(own, routePolicy ?? own.policy));
    return placeIn(this.#lines, `${frame} ${this.#indexes.get(destination)} ${own.gate?.seq ?? 0} ${destination}`);
  }

  get frames(): string {
    return `[${[...this.#frames.keys()].join(",")}]`;
  }

  get lines(): string {
    return [...this.#lines.keys()].join("\n");
  }
}

function placeIn(places: Map<string, number>, text: string): number {
  const place = places.get(text) ?? places.size + 1;
  places.set(text, place);
  return place;
}

/** Texts of policies, which live as long as a configuration. */
const FRAMES = new WeakMap<DestinationPolicy, WeakMap<RoutePolicy, string>>();

function frameOf(own: DestinationPolicy, policy: RoutePolicy): string {
  const ofRoutes = FRAMES.get(own) ?? new WeakMap<RoutePolicy, string>();
  FRAMES.set(own, ofRoutes);
  const frame = ofRoutes.get(policy) ?? JSON.stringify(frameArgument(own, policy));
  ofRoutes.set(policy, frame);
  return frame;
}

function frameArgument(own: DestinationPolicy, policy: RoutePolicy): Record<string, unknown> {
  const { limit, timeoutMs, maxAgeMs, shelving } = own;
  const lease = { limit, leaseMs: timeoutMs + LEASE_MARGIN_MS, maxAgeMs };
  return { ...policyArgument(policy), ...lease, ...(shelving && { shelving }), gate: gateArgument(own) };
}

/** ` effect generation pause`, or nothing. */
function effectOf({ gate }: Settle): string {
  if (gate === undefined || gate.type === "neutral") return "";
  return ` ${EFFECTS[gate.type]} ${gate.generation} ${gate.type === "hold" ? Math.max(0, Math.ceil(gate.holdMs)) : 0}`;
}
