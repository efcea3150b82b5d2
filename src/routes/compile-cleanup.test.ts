import { expect, test } from "vitest";
import { entryProblem } from "./entry-check.ts";
import { entryOf, routeOf, secretsOf } from "./testing.ts";
import { decodeWorkerConfig, encodeWorkerConfig, workerConfigs } from "./worker-config.ts";

const route = routeOf({
  verification: { provider: "queue-push" },
  destinations: [
    { name: "expired", cleanup: { policyRef: { name: "expired-labels" } } },
    { name: "audit", url: "https://audit.example.com/" },
  ],
  delivery: {
    timeout: "20s",
    headers: { "X-Team": "data" },
    forwardHeaders: ["*"],
    proxy: "http://proxy.example.com:3128",
    signing: { scheme: "StandardWebhooks", secretRef: { name: "own", key: "key" } },
  },
});
const entry = entryOf({
  route,
  secrets: secretsOf({ github: { secret: "s" }, own: { key: "k" } }, { "davit.dev/use": "true" }),
});

test("a cleanup destination names its policy and waits for it as long as for an endpoint of others; nothing of a request concerns it", () => {
  const [cleanup, audit] = entry.destinations;
  expect(cleanup).toEqual({
    id: `${entry.route}/expired`,
    name: "expired",
    target: { type: "cleanup", policy: "expired-labels" },
    eventTypes: [],
    timeoutMs: 20_000,
    concurrency: 16,
    retry: audit?.retry,
    headers: {},
    forwardHeaders: [],
  });
  expect(audit).toMatchObject({ target: { type: "http" }, concurrency: 1, forwardHeaders: ["*"], signing: {} });
});

test("an entry with a cleanup destination is one that readers know, and a worker's config carries it", () => {
  expect(entryProblem(JSON.parse(JSON.stringify(entry)))).toBeUndefined();
  const [config] = workerConfigs("default", "shop", [entry]);
  const read = config && decodeWorkerConfig(encodeWorkerConfig(config));
  expect(read).toMatchObject({ ok: true, config: { minReader: 1, routes: [{ destinations: entry.destinations }] } });
});
