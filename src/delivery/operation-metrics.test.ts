import { expect, it } from "vitest";
import { createMetrics } from "../observability/metrics.ts";
import type { WorkerDestination } from "./destinations.ts";
import { OperationMetrics } from "./operation-metrics.ts";

const destination = {
  namespace: "shop",
  routeName: "orders",
  policy: { policy: { route: "00000000000000aa" } },
} as unknown as WorkerDestination;

it("counts what operators did under the route's name, or under its key", async () => {
  const metrics = createMetrics();
  const operations = new OperationMetrics(metrics, () => new Map([["d", destination]]));
  operations.count({ what: "replayed", route: "00000000000000aa", copies: 3 });
  operations.count({ what: "replayed", route: "00000000000000bb", copies: 2 });
  operations.count({ what: "discarded", route: "00000000000000aa", copies: 4 });
  const text = await metrics.registry.metrics();
  expect(text).toContain('davit_replayed_total{namespace="shop",route="orders"} 3');
  expect(text).toContain('davit_replayed_total{namespace="shop",route="00000000000000bb"} 2');
  expect(text).toContain('davit_discarded_total{namespace="shop",route="orders"} 4');
});
