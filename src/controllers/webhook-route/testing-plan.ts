import { stringify } from "yaml";
import { resolveSpec } from "../../api/defaults.ts";
import type { WebhookRouteSpec } from "../../api/generated/webhook-route.ts";
import { type Config, configSchema, type HostConfig } from "../../config/schema.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { entryOf, routeOf } from "../../routes/testing.ts";
import { decodeWorkerConfig, WORKER_CONFIG_KEY } from "../../routes/worker-config.ts";
import type { DesiredObject } from "./children/desired-object.ts";
import type { Dedicated } from "./workers/worker-sizing.ts";

/** A release's config, for tests. */
export function configOf(more: Readonly<Record<string, unknown>> = {}): Config {
  return configSchema.parse({ redis: { urlFile: "/redis/url" }, ...more });
}

/** An entry of `gateway.hosts` with its defaults. */
export function hostOf(more: Readonly<Record<string, unknown>> = {}): HostConfig {
  const [host] = configOf({ gateway: { hosts: [{ host: "hooks.example.com", ...more }] } }).gateway.hosts;
  if (host === undefined) throw new Error("no host");
  return host;
}

/** `spec.worker.dedicated` as `resolveSpec` gives it. */
export function dedicatedOf(dedicated: NonNullable<WebhookRouteSpec["worker"]>["dedicated"]): Dedicated {
  const resolved = resolveSpec(routeOf({ worker: { ...(dedicated && { dedicated }) } }).spec, undefined).worker
    ?.dedicated;
  if (resolved === undefined) throw new Error("not dedicated");
  return resolved;
}

/** An entry of a route with this name. */
export function namedEntry(name: string, spec: Partial<WebhookRouteSpec> = {}): RouteEntry {
  const route = routeOf(spec);
  return entryOf({ route: { ...route, metadata: { ...route.metadata, name } } });
}

/**
 * Objects as YAML for a golden file: what is base64 or packed in Secrets is shown as it is, since packed bytes may differ from
 * zlib to zlib, with the names of routes alone.
 */
export function golden(objects: readonly DesiredObject[]): string {
  return objects.map((object) => stringify({ ...object, ...shown(object) }, { lineWidth: 0 })).join("---\n");
}

function shown({ kind, ["data"]: data }: DesiredObject): Readonly<Record<string, unknown>> {
  if (kind !== "Secret") return {};
  const entries = Object.entries(data as Readonly<Record<string, string>>);
  return { data: Object.fromEntries(entries.map(([key, value]) => [key, decoded(key, Buffer.from(value, "base64"))])) };
}

function decoded(key: string, bytes: Buffer): unknown {
  if (key !== WORKER_CONFIG_KEY) return bytes.toString("utf8");
  const reading = decodeWorkerConfig(bytes);
  if (!reading.ok) return reading.message;
  return { ...reading.config, routes: reading.config.routes.map(({ namespace, name }) => `${namespace}/${name}`) };
}
