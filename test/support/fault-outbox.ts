import {
  CustodyError,
  type CustodyErrorCode,
  type DestinationPolicy,
  type Outbox,
  type Settle,
  type TakenCopy,
  type Ticket,
  type TurnRequest,
  type TurnResult,
} from "../../src/custody/port.ts";

/** What happens to a turn: `refused` before anything was done; `lost` when all was done and the answer did not come. */
export type Fault = { readonly type: "refused" | "lost"; readonly code: CustodyErrorCode };

type Handlers = Parameters<Outbox["start"]>[0];

interface Held {
  readonly copy: TakenCopy;
  used: number;
}

interface Destination {
  readonly lane: Held[];
  readonly due: { readonly at: number; readonly held: Held }[];
  readonly leases: Map<string, Held>;
  generation: number;
  ticket: AbortController | undefined;
}

/**
 * An outbox in memory, to inject faults that a real store cannot be told to have at a given turn. It keeps the port's promises in the simplest way and is
 * no stand-in for the store: that is held to `conformance.ts`.
 */
export class FaultOutbox implements Outbox {
  readonly turns: TurnRequest[] = [];
  /** Settles that took effect, in order. */
  readonly settled: Settle[] = [];
  readonly yielded: Ticket[] = [];
  readonly postponed: Ticket[] = [];
  readonly lookedAgain: string[] = [];
  readonly widened: { readonly destination: string; readonly slots: number }[] = [];
  dones = 0;
  /** Decides the fate of each turn. */
  fault: (request: TurnRequest) => Fault | undefined = () => undefined;
  /** Turns wait for it. */
  gate: Promise<void> = Promise.resolve();
  /** Overrules `done`. */
  doneAnswer: "more" | undefined;
  /** `false`: a yielded ticket is not handed out again. */
  rehand = true;
  readonly #destinations = new Map<string, Destination>();
  #handlers: Handlers | undefined;
  readonly #running = new Set<Promise<void>>();
  #stopped = false;
  #serial = 0;

  /** Puts events into a destination's lane and hands out a ticket, as the store would. */
  put(destination: string, count: number, overrides: Partial<TakenCopy> = {}): void {
    const known = this.#destination(destination);
    for (let i = 0; i < count; i++) {
      this.#serial += 1;
      const copy: TakenCopy = {
        destination,
        eventId: `event-${this.#serial}`,
        fence: 0,
        attempt: 0,
        used: 0,
        firstAttemptAt: Date.now(),
        now: Date.now(),
        receivedAt: Date.now(),
        sequence: this.#serial,
        seq: 1,
        headers: { "content-type": "application/json" },
        eventType: undefined,
        body: Buffer.from(`{"n":${this.#serial}}`),
        ...overrides,
      };
      known.lane.push({ copy, used: 0 });
    }
    if (known.ticket === undefined) this.handTicket(destination);
    else this.#handlers?.onHint(destination);
  }

  waiting(destination: string): number {
    return this.#destination(destination).lane.length;
  }

  leased(destination: string): number {
    return this.#destination(destination).leases.size;
  }

  /** Hands out a ticket, also a second one. */
  handTicket(destination: string, slot = 0): AbortController {
    const known = this.#destination(destination);
    const controller = new AbortController();
    if (this.#handlers === undefined || this.#stopped) return controller;
    known.ticket = controller;
    const ticket = { destination, generation: known.generation, slot };
    const run = this.#handlers.onTicket(ticket, controller.signal).finally(() => {
      this.#running.delete(run);
      if (known.ticket === controller) known.ticket = undefined;
    });
    this.#running.add(run);
    return controller;
  }

  async turn(request: TurnRequest): Promise<TurnResult> {
    this.turns.push(request);
    await this.gate;
    const fault = this.fault(request);
    if (fault?.type === "refused") throw new CustodyError(fault.code, "refused");
    const fenced = request.settles.flatMap((settle, index) => (this.#settle(settle) ? [] : [index]));
    for (const [id, mine] of request.adopt ?? []) this.#adopt(id, mine);
    const copies: TakenCopy[] = [];
    const waiting = new Map<string, number>();
    for (const { destination, want } of request.takes) {
      copies.push(...this.#take(destination, want, request.policies.get(destination)?.limit ?? 0));
      waiting.set(destination, this.waiting(destination));
    }
    await new Promise((resolve) => setImmediate(resolve));
    if (fault?.type === "lost") throw new CustodyError(fault.code, "answer lost");
    return { copies, waiting, fenced, unknown: 0, workerLost: 0, expired: 0 };
  }

  async done(ticket: Ticket, policy: DestinationPolicy): Promise<"more" | "idle"> {
    this.dones += 1;
    const known = this.#destination(ticket.destination);
    this.#promoteDue(known);
    const takeable = known.lane.length > 0 && known.leases.size < policy.limit;
    if (takeable || this.doneAnswer === "more") return "more";
    known.generation += 1;
    const [next] = known.due.map(({ at }) => at).toSorted((a, b) => a - b);
    if (next !== undefined) setTimeout(() => this.handTicket(ticket.destination), Math.max(0, next - Date.now()));
    return "idle";
  }

  async yield(ticket: Ticket): Promise<void> {
    this.yielded.push(ticket);
    this.#destination(ticket.destination).generation += 1;
    if (this.rehand) setImmediate(() => this.handTicket(ticket.destination, ticket.slot));
  }

  async lookAgain(destinations: readonly string[]): Promise<void> {
    this.lookedAgain.push(...destinations);
  }

  async postpone(ticket: Ticket, delayMs: number): Promise<void> {
    this.postponed.push(ticket);
    setTimeout(() => this.handTicket(ticket.destination), delayMs).unref();
  }

  async widen(destination: string, slots: number): Promise<void> {
    this.widened.push({ destination, slots });
  }

  async start(handlers: Handlers): Promise<() => Promise<void>> {
    this.#handlers = handlers;
    for (const [id, { lane }] of this.#destinations) if (lane.length > 0) this.handTicket(id);
    return async () => {
      this.#stopped = true;
      await Promise.all(this.#running);
    };
  }

  #destination(id: string): Destination {
    const known = this.#destinations.get(id);
    if (known !== undefined) return known;
    const fresh = { lane: [], due: [], leases: new Map(), generation: 0, ticket: undefined };
    this.#destinations.set(id, fresh);
    return fresh;
  }

  #settle(settle: Settle): boolean {
    const known = this.#destination(settle.destination);
    const held = known.leases.get(settle.eventId);
    if (held?.copy.fence !== settle.fence) return false;
    known.leases.delete(settle.eventId);
    this.settled.push(settle);
    if (settle.outcome === "handedBack") this.#return(known, held);
    const again = settle.outcome === "retry" || settle.outcome === "parked";
    if (again) known.due.push({ at: Date.now() + (settle.delayMs ?? 0), held });
    return true;
  }

  #adopt(id: string, mine: readonly { readonly eventId: string; readonly fence: number }[]): void {
    const known = this.#destination(id);
    const listed = new Map(mine.map(({ eventId, fence }) => [eventId, fence]));
    for (const [eventId, held] of known.leases) {
      if (listed.get(eventId) === held.copy.fence) continue;
      known.leases.delete(eventId);
      this.#return(known, held);
    }
  }

  #return(known: Destination, held: Held): void {
    const { copy } = held;
    known.lane.unshift({ copy: { ...copy, attempt: copy.attempt - 1 }, used: held.used - 1 });
  }

  #promoteDue(known: Destination): void {
    for (const entry of known.due.splice(0)) {
      if (entry.at <= Date.now()) known.lane.push(entry.held);
      else known.due.push(entry);
    }
  }

  #take(id: string, want: number, limit: number): TakenCopy[] {
    const known = this.#destination(id);
    this.#promoteDue(known);
    const room = Math.max(0, Math.min(want, limit - known.leases.size));
    return known.lane.splice(0, room).map(({ copy, used }) => {
      const taken: TakenCopy = {
        ...copy,
        fence: copy.fence + 1,
        attempt: copy.attempt + 1,
        used: used + 1,
        now: Date.now(),
      };
      known.leases.set(copy.eventId, { copy: taken, used: used + 1 });
      return taken;
    });
  }
}
