import { randomUUID } from "node:crypto";
import { sleep, systemTimers, type Timers } from "../lib/timers.ts";
import type { KubeClient } from "./client.ts";
import { isNotFound } from "./errors.ts";
import { EventSeriesBook, type EventSeries, type Happening } from "./event-series.ts";
import { microTime } from "./micro-time.ts";
import type { KubeObject, Live } from "./objects.ts";
import type { ResourceClient } from "./resource-client.ts";
import type { ResourceType } from "./resource-type.ts";

/** Limit of a note in events.k8s.io/v1 is 1,024 bytes (`pkg/apis/core/validation/events.go`). */
const LONGEST_NOTE = 1_000;
/** Events that wait to be written; more are dropped. */
const LONGEST_QUEUE = 1_000;
const WRITE_TIMEOUT_MS = 5_000;
/** Where events about cluster-scoped objects go. */
const CLUSTER_NAMESPACE = "default";

/** `core/v1.ObjectReference`, as far as events need it. */
export interface EventTarget {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** `Event` of events.k8s.io/v1. */
export interface KubeEvent extends KubeObject {
  readonly eventTime: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note?: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly regarding: EventTarget;
  readonly related?: EventTarget;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

export const EVENTS: ResourceType<KubeEvent> = {
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
};

/** Who records. */
export interface RecorderOptions {
  readonly client: KubeClient;
  /** A qualified name: `davit.dev/controller`. */
  readonly reportingController: string;
  /** The pod, usually. */
  readonly reportingInstance: string;
  readonly timers?: Timers;
  /** Why an event was not written: the error, or `undefined` when there were too many. For a debug log. */
  readonly onDropped?: (error: unknown) => void;
}

/**
 * Writes Events, apart from whoever records them: nothing waits for them and no failure of theirs reaches anybody. Equal ones become a series, and each
 * object has a budget.
 */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #timers: Timers;
  readonly #events: ResourceClient<KubeEvent>;
  readonly #book = new EventSeriesBook();
  readonly #waiting = new Set<EventSeries>();
  readonly #delayed = new Map<EventSeries, () => void>();
  #writing: Promise<void> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#events = options.client.resource(EVENTS);
  }

  /** Records that something happened to an object. Returns at once and never throws. `regarding` carries `apiVersion` and `kind`. */
  record(regarding: Live, happening: Happening): void {
    const recorded = this.#book.note(regarding, happening, this.#timers.now());
    if (!recorded) return this.#options.onDropped?.(undefined);
    const { series, inMs } = recorded;
    if (this.#waiting.has(series) || this.#delayed.has(series)) return;
    if (inMs === 0) return this.#enqueue(series);
    this.#delayed.set(
      series,
      this.#timers.after(inMs, () => this.#enqueue(series)),
    );
  }

  /** Writes what waits, series included, for at most `withinMs`. Never rejects. */
  async flush(withinMs = WRITE_TIMEOUT_MS): Promise<void> {
    for (const series of this.#delayed.keys()) this.#enqueue(series);
    const written = new AbortController();
    await Promise.race([this.#writing, sleep(this.#timers, withinMs, written.signal)]);
    written.abort();
  }

  #enqueue(series: EventSeries): void {
    this.#delayed.get(series)?.();
    this.#delayed.delete(series);
    if (this.#waiting.size >= LONGEST_QUEUE) return this.#options.onDropped?.(undefined);
    this.#waiting.add(series);
    this.#writing ??= this.#drain();
  }

  async #drain(): Promise<void> {
    for (const series of this.#waiting) {
      this.#waiting.delete(series);
      try {
        // oxlint-disable-next-line no-await-in-loop -- events are not worth more than one connection
        await this.#write(series);
      } catch (error) {
        this.#options.onDropped?.(error);
      }
    }
    this.#writing = undefined;
  }

  async #write(series: EventSeries): Promise<void> {
    series.writtenAt = this.#timers.now();
    if (series.name !== undefined && (await this.#continue(series, series.name))) return;
    const event = this.#eventOf(series);
    await this.#events.create(event, { timeoutMs: WRITE_TIMEOUT_MS });
    series.name = event.metadata.name;
  }

  /** @returns false if the Event has expired meanwhile (the server keeps them for an hour) */
  async #continue(series: EventSeries, name: string): Promise<boolean> {
    const ref = { namespace: namespaceOf(series.regarding), name };
    try {
      await this.#events.mergePatch(ref, { series: seriesOf(series) }, {}, { timeoutMs: WRITE_TIMEOUT_MS });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  #eventOf(series: EventSeries): KubeEvent {
    const { regarding, happening, firstAt, count } = series;
    const { type, reason, action, note, related } = happening;
    const { reportingController, reportingInstance } = this.#options;
    return {
      metadata: { namespace: namespaceOf(regarding), name: `${regarding.metadata.name.slice(0, 200)}.${shortId()}` },
      eventTime: microTime(firstAt),
      type,
      reason,
      action,
      note: cut(note, LONGEST_NOTE),
      reportingController,
      reportingInstance: reportingInstance.slice(0, 128),
      regarding: targetOf(regarding),
      ...(related ? { related: targetOf(related) } : {}),
      ...(count > 1 ? { series: seriesOf(series) } : {}),
    };
  }
}

function seriesOf({ count, lastAt }: EventSeries): NonNullable<KubeEvent["series"]> {
  return { count, lastObservedTime: microTime(lastAt) };
}

function namespaceOf(regarding: Live): string {
  return regarding.metadata.namespace ?? CLUSTER_NAMESPACE;
}

function targetOf({ apiVersion, kind, metadata: { namespace, name, uid } }: Live): EventTarget {
  return { ...(apiVersion && { apiVersion }), ...(kind && { kind }), ...(namespace && { namespace }), name, uid };
}

const shortId = (): string => randomUUID().replaceAll("-", "").slice(0, 16);

/** At most so many bytes of UTF-8, never half a character. */
function cut(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  return encoded.length <= bytes
    ? text
    : encoded
        .subarray(0, bytes)
        .toString("utf8")
        .replace(/\uFFFD$/, "");
}
