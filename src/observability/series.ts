import { Counter, Histogram, type Registry } from "prom-client";

/** What both kinds of metric are made of. */
export interface SeriesOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  readonly registry: Registry;
}

interface HistogramOptions<L extends string> extends SeriesOptions<L> {
  /** Upper bounds, growing. */
  readonly buckets: readonly number[];
}

/** The series of one metric. Label values in the order of the names. */
export interface SeriesOf<S> {
  /** Finds or makes a series: ask once and keep it. */
  labels(...values: readonly string[]): S;
  /** Takes a series out of the output; whoever still holds it counts for nobody. */
  remove(...values: readonly string[]): void;
}

export interface CounterSeries {
  inc(by?: number): void;
}

export interface HistogramSeries {
  /** @param value finite */
  observe(value: number): void;
}

/**
 * A counter for the hot path: its series are found once, and counting is one addition. prom-client puts a text of all labels together, and looks it up, at
 * each `inc`.
 */
export function seriesCounter<L extends string>(options: SeriesOptions<L>): SeriesOf<CounterSeries> {
  const series = new SeriesMap(options.labelNames, (labels) => new Count(labels));
  void new ExportedCounter<L>(options, series);
  return series;
}

/** A histogram for the hot path, as {@link seriesCounter}. */
export function seriesHistogram<L extends string>(options: HistogramOptions<L>): SeriesOf<HistogramSeries> {
  const series = new SeriesMap(options.labelNames, (labels) => new Distribution(labels, options.buckets));
  void new ExportedHistogram<L>(options, series);
  return series;
}

type Labels<L extends string> = Partial<Record<L, string>>;

class SeriesMap<L extends string, S> implements SeriesOf<S> {
  readonly #names: readonly L[];
  readonly #make: (labels: Labels<L>) => S;
  readonly #series = new Map<string, S>();

  constructor(names: readonly L[], make: (labels: Labels<L>) => S) {
    this.#names = names;
    this.#make = make;
  }

  labels(...values: readonly string[]): S {
    if (values.length !== this.#names.length)
      throw new RangeError(`needs a value for each of ${this.#names.join(", ")}`);
    const key = JSON.stringify(values);
    let series = this.#series.get(key);
    if (series === undefined) {
      const labels: Labels<L> = {};
      for (const [at, name] of this.#names.entries()) labels[name] = values[at] ?? "";
      series = this.#make(labels);
      this.#series.set(key, series);
    }
    return series;
  }

  remove(...values: readonly string[]): void {
    this.#series.delete(JSON.stringify(values));
  }

  all(): S[] {
    return [...this.#series.values()];
  }
}

class Count<L extends string> implements CounterSeries {
  readonly labels: Labels<L>;
  value = 0;

  constructor(labels: Labels<L>) {
    this.labels = labels;
  }

  inc(by = 1): void {
    this.value += by;
  }
}

class Distribution<L extends string> implements HistogramSeries {
  readonly labels: Labels<L>;
  readonly bounds: readonly number[];
  /** Values above the bound before and not above this one; the last place is for those above all. */
  readonly counts: number[];
  sum = 0;

  constructor(labels: Labels<L>, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at++;
    counts[at] = (counts[at] ?? 0) + 1;
    this.sum += value;
  }

  isEmpty(): boolean {
    return this.counts.every((count) => count === 0);
  }
}

/** What prom-client shows of a {@link SeriesMap} of counts. */
class ExportedCounter<L extends string> extends Counter<L> {
  readonly #series: SeriesMap<L, Count<L>>;

  constructor({ name, help, labelNames, registry }: SeriesOptions<L>, series: SeriesMap<L, Count<L>>) {
    super({ name, help, labelNames, registers: [registry] });
    this.#series = series;
  }

  override async get() {
    return { ...(await super.get()), values: this.#series.all().map(({ labels, value }) => ({ labels, value })) };
  }
}

/** As {@link ExportedCounter}. A series without a value is not shown, as prom-client does it. */
class ExportedHistogram<L extends string> extends Histogram<L> {
  readonly #options: HistogramOptions<L>;
  readonly #series: SeriesMap<L, Distribution<L>>;

  constructor(options: HistogramOptions<L>, series: SeriesMap<L, Distribution<L>>) {
    const { name, help, labelNames, registry, buckets } = options;
    super({ name, help, labelNames, buckets: [...buckets], registers: [registry] });
    this.#options = options;
    this.#series = series;
  }

  /** What prom-client reads a histogram by, for its text as for `get`. `sharedLabels` are those that all lines of a series have. */
  async getForPromString() {
    const { name, help } = this.#options;
    const values = this.#series.all().flatMap((series) => (series.isEmpty() ? [] : lines(name, series)));
    return { name, help, type: "histogram", aggregator: "sum", values };
  }
}

/** Buckets count upwards in the output, and `+Inf` is the number of all values. */
function lines<L extends string>(name: string, { labels, bounds, counts, sum }: Distribution<L>) {
  let count = 0;
  const line = (suffix: string, value: number, own: { readonly le?: number | string } = {}) => ({
    labels: { ...own },
    sharedLabels: labels,
    value,
    metricName: `${name}_${suffix}`,
  });
  const buckets = [...bounds, "+Inf"].map((le, at) => {
    count += counts[at] ?? 0;
    return { ...line("bucket", count, { le }), exemplar: null };
  });
  return [...buckets, line("sum", sum), line("count", count)];
}
