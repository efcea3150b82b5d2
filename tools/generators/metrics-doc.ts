import { createMetrics } from "../../src/observability/metrics.ts";
import type { Generator } from "./generator.ts";

interface MetricFacts {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** `docs/metrics.md`: a table of every metric, from where they are defined. */
export const metricsDoc: Generator = {
  output: "docs/metrics.md",
  source: "src/observability/metrics.ts",
  generate: async () => {
    const { registry } = createMetrics();
    const types = new Map((await registry.getMetricsAsJSON()).map((metric) => [metric.name, String(metric.type)]));
    const rows = (registry.getMetricsAsArray() as unknown as readonly MetricFacts[]).map(
      ({ name, help, labelNames }) =>
        `| \`${name}\` | ${types.get(name)} | ${labelNames.map((label) => `\`${label}\``).join(", ")} | ${help} |`,
    );
    return [
      "# Metrics",
      "",
      "Generated from `src/observability/metrics.ts` by `npm run generate`.",
      "",
      "| name | type | labels | meaning |",
      "|---|---|---|---|",
      ...rows,
      "",
    ].join("\n");
  },
};
