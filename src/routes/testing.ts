import type { WebhookRoute } from "../api/generated/webhook-route.ts";
import type { SecretObject } from "../api/secret.ts";
import { type CompileInput, compile } from "./compile.ts";
import type { RouteEntry } from "./entry.ts";

/** A small valid route, for tests of whatever works on routes. */
export function routeOf(spec: Partial<WebhookRoute["spec"]> = {}): WebhookRoute {
  return {
    apiVersion: "davit.dev/v1alpha1",
    kind: "WebhookRoute",
    metadata: { name: "orders", namespace: "shop" },
    spec: {
      exposure: { host: "hooks.example.com", path: "/shop/orders" },
      verification: { provider: "github" },
      secretRefs: [{ name: "github", key: "secret" }],
      destinations: [{ name: "own", serviceRef: { name: "own", port: 8080 } }],
      ...spec,
    },
  };
}

/** Secrets of the namespace `shop` from text values. */
export function secretsOf(
  secrets: Readonly<Record<string, Readonly<Record<string, string>>>>,
  labels: Readonly<Record<string, string>> = {},
): Map<string, SecretObject> {
  return new Map(
    Object.entries(secrets).map(([name, values]) => {
      const data = new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)]));
      return [name, { namespace: "shop", name, labels, data }];
    }),
  );
}

/** Arguments of {@link compile} for {@link routeOf}. */
export function inputOf(more: Partial<CompileInput> = {}): CompileInput {
  return {
    route: routeOf(),
    namespace: "shop",
    namespaceUid: "a-namespace-uid",
    secrets: secretsOf({ github: { secret: "first secret\n" } }),
    now: 1_000_000,
    releaseKey: Buffer.from("release key of a test"),
    ...more,
  };
}

/** A compiled entry. */
export function entryOf(more: Partial<CompileInput> = {}): RouteEntry {
  const result = compile(inputOf(more));
  if (!result.ok) throw new Error(result.problems.map(({ path, message }) => `${path}: ${message}`).join("; "));
  return result.entry;
}
