import { destinationSecretName } from "../../api/names.ts";
import type { Config } from "../../config/schema.ts";
import type { DestinationGates, GateReport } from "../../controllers/webhook-destination/destination-side.ts";
import { GateReports } from "../../controllers/webhook-destination/gate-reports.ts";
import type { Operator } from "../../controllers/webhook-route/operator.ts";
import type { RedisStore } from "../../custody/redis/store.ts";
import { NotLeaderError } from "../../kube/fence.ts";
import { refOf } from "../../kube/objects.ts";
import { sleep, systemTimers } from "../../lib/timers.ts";

/** Every gate is looked at this often, ms. */
const LOOK_MS = 10_000;
/** Gates that are read with one command. */
const PAGE = 500;
/** Between two commands, ms: they are not to come all at once. */
const PAUSE_MS = 20;
/** States of gates are given to statuses this often, ms, a few at a time. */
const REPORT_MS = 1_000;

export interface DestinationCustodyOptions {
  readonly config: Pick<Config, "instance">;
  readonly store: Pick<RedisStore, "ledger">;
  readonly isLeader: () => boolean;
}

/** The gates of WebhookDestinations for the controller: what their statuses are to say, and the command to enable one. */
export class DestinationCustody implements DestinationGates {
  readonly #options: DestinationCustodyOptions;
  #operator: Operator | undefined;
  #reports: GateReports | undefined;

  constructor(options: DestinationCustodyOptions) {
    this.#options = options;
  }

  /** Where it looks up which destinations there are. */
  follow(operator: Operator): void {
    const { destinations, enqueue } = operator;
    this.#operator = operator;
    this.#reports = new GateReports({
      clock: systemTimers,
      statusOf: (key) => destinations.index.get(key)?.status,
      enqueue: (key) => enqueue.destination(key),
    });
  }

  of(key: string): GateReport | undefined {
    return this.#reports?.of(key);
  }

  async enable(namespace: string, destination: string): Promise<void> {
    if (!this.#options.isLeader()) throw new NotLeaderError();
    await this.#ledger(namespace).enable(destination);
  }

  /** Looks at all gates again and again until the signal fires. */
  async lead(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#looks(signal), this.#releases(signal)]);
  }

  async #looks(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { index } = this.#operator?.destinations ?? {};
      this.#reports?.keepOnly((key) => index?.get(key) !== undefined);
      // While Redis does not answer, what was seen last stands.
      for (const namespace of index?.namespaces() ?? []) await this.#look(namespace, signal).catch(() => undefined);
      await sleep(systemTimers, LOOK_MS, signal);
    }
  }

  async #look(namespace: string, signal: AbortSignal): Promise<void> {
    const holders = this.#holdersIn(namespace);
    for (let at = 0; at < holders.length && !signal.aborted; at += PAGE) {
      const page = holders.slice(at, at + PAGE);
      const views = await this.#ledger(namespace).gates(page.map(({ destination }) => destination));
      for (const [position, view] of views.entries()) this.#reports?.note(page[position]?.key ?? "", view);
      await sleep(systemTimers, PAUSE_MS, signal);
    }
  }

  /** Those that have their id: of others the gate is somebody else's. */
  #holdersIn(namespace: string): { readonly key: string; readonly destination: string }[] {
    const { index, publications } = this.#operator?.destinations ?? {};
    if (index === undefined || publications === undefined) return [];
    return index.ofNamespace(namespace).flatMap((key) => {
      const secret = destinationSecretName(this.#options.config.instance, namespace, refOf(key).name);
      const { publication } = publications.get(secret) ?? {};
      return publication === undefined ? [] : [{ key, destination: publication.destination }];
    });
  }

  async #releases(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#reports?.release();
      await sleep(systemTimers, REPORT_MS, signal);
    }
  }

  #ledger(namespace: string) {
    return this.#options.store.ledger({ instance: this.#options.config.instance, namespace });
  }
}
