import { Counter, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { seriesCounter, seriesHistogram } from "./series.ts";

const name = "a_metric";
const help = "Help";
const labelNames = ["namespace", "route"] as const;
const buckets = [0.001, 0.25, 5];
const VALUES = [0, 0.0005, 0.001, 0.002, 0.25, 0.3, 5, 5.1, 1_000];

/** The text and the JSON of a registry after `use` had it. */
async function shown(use: (registry: Registry) => void) {
  const registry = new Registry();
  use(registry);
  return { text: await registry.metrics(), json: await registry.getMetricsAsJSON() };
}

describe("series of the hot path", () => {
  it("are shown as prom-client shows the same counts", async () => {
    const ours = await shown((registry) => {
      const counter = seriesCounter({ name, help, labelNames, registry });
      counter.labels("shop", 'a"b').inc(0);
      for (let at = 0; at < 7; at++) counter.labels("shop", "orders").inc();
      counter.labels("shop", "orders").inc(3);
    });
    const theirs = await shown((registry) => {
      const counter = new Counter({ name, help, labelNames, registers: [registry] });
      counter.labels("shop", 'a"b').inc(0);
      counter.labels("shop", "orders").inc(10);
    });
    expect(ours).toEqual(theirs);
    expect(ours.text).toContain('a_metric{namespace="shop",route="orders"} 10');
  });

  it("are shown as prom-client shows the same observations, on and between the bounds", async () => {
    const ours = await shown((registry) => {
      const histogram = seriesHistogram({ name, help, labelNames, buckets, registry });
      for (const route of ["orders", "refunds"])
        for (const value of VALUES) histogram.labels("shop", route).observe(value);
    });
    const theirs = await shown((registry) => {
      const histogram = new Histogram({ name, help, labelNames, buckets, registers: [registry] });
      for (const route of ["orders", "refunds"])
        for (const value of VALUES) histogram.labels("shop", route).observe(value);
    });
    expect(ours).toEqual(theirs);
    expect(ours.text).toContain('a_metric_bucket{le="0.25",namespace="shop",route="orders"} 5');
  });

  it("are shown without a value as prom-client shows them", async () => {
    const ours = await shown((registry) => {
      seriesCounter({ name, help, labelNames, registry });
      seriesHistogram({ name: "another", help, labelNames, buckets, registry }).labels("shop", "orders");
    });
    const theirs = await shown((registry) => {
      void new Counter({ name, help, labelNames, registers: [registry] });
      new Histogram({ name: "another", help, labelNames, buckets, registers: [registry] }).labels("shop", "orders");
    });
    expect(ours).toEqual(theirs);
  });

  it("are the same ones for the same values, and others for values that only look alike together", async () => {
    const { text } = await shown((registry) => {
      const counter = seriesCounter({ name, help, labelNames, registry });
      expect(counter.labels("a", "b")).toBe(counter.labels("a", "b"));
      counter.labels("a,b", "c").inc();
      counter.labels("a", "b,c").inc(2);
    });
    expect(text.match(/^a_metric\{.*$/gm)).toHaveLength(3);
  });

  it("are gone when they are removed, and begin at 0 when they come back", async () => {
    const { text } = await shown((registry) => {
      const counter = seriesCounter({ name, help, labelNames, registry });
      const held = counter.labels("shop", "orders");
      held.inc(5);
      counter.labels("shop", "refunds").inc();
      counter.remove("shop", "orders");
      held.inc();
      counter.remove("shop", "refunds");
      counter.labels("shop", "refunds").inc(0);
    });
    expect(text).toContain('a_metric{namespace="shop",route="refunds"} 0');
    expect(text).not.toContain("orders");
  });

  it("want a value for each label", () => {
    const counter = seriesCounter({ name, help, labelNames, registry: new Registry() });
    expect(() => counter.labels("shop")).toThrow(RangeError);
  });
});
