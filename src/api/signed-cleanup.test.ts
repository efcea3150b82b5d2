import { expect, test } from "vitest";
import { validateRoute } from "./validation.ts";

const route = (verification: object, secretRefs?: readonly object[]) => ({
  apiVersion: "davit.dev/v1alpha1",
  kind: "WebhookRoute",
  metadata: { name: "labels" },
  spec: {
    exposure: { host: "hooks.example.com", path: "/labels" },
    verification,
    ...(secretRefs && { secretRefs }),
    destinations: [
      { name: "orders", url: "https://orders.example.com/" },
      { name: "runs", cleanup: { policyRef: { name: "expired-labels" } } },
    ],
  },
});
const KEY = [{ name: "push", key: "secret" }];
const errors = (manifest: object) =>
  validateRoute(manifest)
    .problems.filter(({ severity }) => severity === "error")
    .map(({ path }) => path);

test.each([
  ["none", route({ none: {} })],
  ["a token", route({ token: { header: "X-Token" } }, KEY)],
  ["basic", route({ basic: {} }, [{ name: "push" }])],
  ["a provider that sends a token", route({ provider: "gitlab" }, KEY)],
])("a cleanup is not started by pushes that %s verifies", (_, manifest) => {
  expect(errors(manifest)).toContain("spec.destinations[1].cleanup");
});

test.each([
  ["queue-push", route({ provider: "queue-push" }, KEY)],
  ["github", route({ provider: "github" }, KEY)],
  [
    "an HMAC over the body",
    route({ hmac: { header: "X-Signature", algorithm: "sha256", encoding: "hex", signedContent: "{body}" } }, KEY),
  ],
])("a cleanup is started by pushes that %s signs", (_, manifest) => {
  expect(errors(manifest)).toEqual([]);
});
