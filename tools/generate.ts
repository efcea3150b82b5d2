import { fileURLToPath } from "node:url";
import { chartCrd } from "./generators/chart-crds.ts";
import { chartRedisRules } from "./generators/chart-redis-rules.ts";
import { configDoc } from "./generators/config-doc.ts";
import { crdTypes } from "./generators/crd-types.ts";
import type { Generator } from "./generators/generator.ts";
import { metricsDoc } from "./generators/metrics-doc.ts";
import { providersDoc } from "./generators/providers-doc.ts";
import { redisUsersDoc } from "./generators/redis-users-doc.ts";
import { runGenerators } from "./generators/run.ts";
import { valuesSchema } from "./generators/values-schema.ts";
import { CRD_FILES } from "../src/api/crd.ts";

/** Every generated file. A new one: write a generator beside the others and name it here. */
export const generators: readonly Generator[] = [
  crdTypes("WebhookRoute", "src/api/generated/webhook-route.ts"),
  crdTypes("WebhookDestination", "src/api/generated/webhook-destination.ts"),
  crdTypes("CleanupPolicy", "src/api/generated/cleanup-policy.ts"),
  crdTypes("CleanupRun", "src/api/generated/cleanup-run.ts"),
  metricsDoc,
  configDoc,
  providersDoc,
  redisUsersDoc,
  valuesSchema,
  chartRedisRules,
  ...Object.values(CRD_FILES).map((name) => chartCrd(`crds/${name}`)),
];

if (import.meta.main) {
  const check = process.argv.includes("--check");
  const root = fileURLToPath(new URL("..", import.meta.url));
  const stale = await runGenerators(generators, root, check);
  for (const path of stale) {
    const source = generators.find((generator) => generator.output === path)?.source;
    process.stdout.write(check ? `${path} is stale: ${source} has changed, run npm run generate\n` : `wrote ${path}\n`);
  }
  process.exitCode = check && stale.length > 0 ? 1 : 0;
}
