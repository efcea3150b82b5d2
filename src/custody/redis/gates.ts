import type { GateConfig, GateReason, GateState, GateTransition, GateView, Gates } from "../gate.ts";
import type { DestinationPolicy } from "../port.ts";
import type { CustodyClient } from "./connection.ts";

const STATES: Readonly<Record<string, GateState>> = {
  C: "Closed",
  W: "Held",
  O: "Open",
  H: "HalfOpen",
  D: "Disabled",
};

/** Gates of one namespace on Redis, for operators. What they do by themselves is in `lua/gate.lua`. Lets Redis's errors through. */
export class RedisGates implements Gates {
  readonly #redis: CustodyClient;
  readonly #prefix: string;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
  }

  async gate(destination: string): Promise<GateView> {
    const [state, config, seq] = await this.#redis.hmget(`${this.#prefix}gate:${destination}`, "st", "cfg", "cs");
    return parseGate(state ?? "", config ?? "", seq ?? "");
  }

  async gates(destinations: readonly string[]): Promise<readonly GateView[]> {
    if (destinations.length === 0) return [];
    const states = await this.#redis.gates(this.#prefix, ...destinations);
    return states.map((state) => parseGate(state));
  }

  async enable(destination: string): Promise<GateTransition | undefined> {
    return parseTransition(destination, await this.#redis.enable(this.#prefix, destination));
  }

  async hold(destination: string, untilMs: number): Promise<GateTransition | undefined> {
    return parseTransition(destination, await this.#redis.hold(this.#prefix, destination, Math.ceil(untilMs)));
  }
}

/** Reads the fields `st`, `cfg` and `cs` of a gate; empty where there is none. */
export function parseGate(state = "", config = "", seq = ""): GateView {
  const view = parseState(state === "" ? undefined : state);
  if (config === "") return view;
  const kept = JSON.parse(config) as GateConfig & { readonly limit: number };
  return { ...view, config: { ...kept, seq: Number(seq) } };
}

/** A policy's gate as the scripts read it: with the limit, which is kept and replaced together with it. Its `seq` is said apart: many have the rest in common. */
export function gateArgument({ gate, limit }: DestinationPolicy): object | undefined {
  return gate && { ...gate, seq: undefined, limit };
}

/** Reads "from to at reason generation fails since ends". @returns `undefined` for an empty text */
export function parseTransition(destination: string, text: string): GateTransition | undefined {
  if (text === "") return undefined;
  const [from = "", to = "", at, reason, generation, fails, since, ends] = text.split(" ");
  return {
    destination,
    from: stateOf(from),
    to: stateOf(to),
    at: Number(at),
    reason: reason as GateReason,
    generation: Number(generation),
    consecutiveFailures: Number(fails),
    ...(since !== "0" && { failingSince: Number(since) }),
    ...(ends !== "0" && { until: Number(ends) }),
  };
}

/** Reads "state ends generation fails since row trips ramp at reason told". */
function parseState(text = "C 0 0 0 0 0 0 0 0 -"): GateView {
  const [state = "", ends, generation, fails, since, , , ramp, at, reason] = text.split(" ");
  return {
    state: stateOf(state),
    generation: Number(generation),
    consecutiveFailures: Number(fails),
    ...(since !== "0" && { failingSince: Number(since) }),
    ...(ends !== "0" && { until: Number(ends) }),
    ...(at !== "0" && { changedAt: Number(at) }),
    ...(reason !== "-" && { reason: reason as GateReason }),
    ...(ramp !== "0" && { rampingAt: Number(ramp) }),
  };
}

/** A letter that only a newer Davit knows is shown as what it is not: open to nothing by mistake. */
function stateOf(letter: string): GateState {
  return STATES[letter] ?? "Held";
}
