import { randomUUID } from "node:crypto";
import { Registry } from "prom-client";
import { expect, onTestFinished, vi } from "vitest";
import { createKubernetesMetrics } from "../../observability/kubernetes-metrics.ts";
import type { KubeAuth } from "../auth.ts";
import { KubeClient } from "../client.ts";
import { CONFIG_MAPS, LEASES, NAMESPACES, PODS, SECRETS, type ConfigMap } from "../core-types.ts";
import { EVENTS } from "../event-recorder.ts";
import type { Change } from "../object-cache.ts";
import type { KubeObject } from "../objects.ts";
import { Reflector, type ReflectorOptions } from "../reflector.ts";
import type { ResourceType } from "../resource-type.ts";
import { KubeTransport } from "../transport.ts";

/** An API server under test. */
export interface ConformanceServer {
  /** Credentials that may do everything. */
  readonly auth: KubeAuth;
  /** Credentials that are known and may do nothing. */
  readonly stranger: KubeAuth;
  /** Makes a namespace of the test's own. */
  readonly namespace: () => Promise<string>;
}

/** One that can be harmed. */
export interface FaultyServer extends ConformanceServer {
  /** After this, versions that came before are 410 Gone, for watches and for lists half read. */
  readonly compact: () => Promise<void>;
  /** Connections stay open and nothing comes over them. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Breaks every connection; the server answers again afterwards. */
  readonly cut: () => Promise<void>;
}

/** The kinds that the suite uses: what a fake has to serve. */
export const CONFORMANCE_TYPES: readonly ResourceType[] = [NAMESPACES, CONFIG_MAPS, SECRETS, PODS, LEASES, EVENTS];

/** Metrics that nobody reads. */
export const testMetrics = () => createKubernetesMetrics(new Registry());

/** A client whose connections go with the test. */
export function clientOf(auth: KubeAuth, metrics = testMetrics()): KubeClient {
  const transport = new KubeTransport({ auth, metrics });
  onTestFinished(() => transport.close());
  return new KubeClient(transport);
}

/** A ConfigMap. */
export const configMap = (
  namespace: string,
  name: string,
  data: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
): ConfigMap => ({ metadata: { namespace, name, labels }, data });

/** A name that no other test uses. */
export const unique = (prefix: string) => `${prefix}-${randomUUID().slice(0, 8)}`;

/** A reflector that runs until the test ends, and all it said: `+name`, `~name`, `-name`. */
export function reflecting<T extends KubeObject>(
  auth: KubeAuth,
  options: Omit<ReflectorOptions<T>, "transport" | "metrics">,
) {
  const { transport } = clientOf(auth);
  const stop = new AbortController();
  const reflector = new Reflector({ minDelayMs: 20, maxDelayMs: 500, ...options, transport, metrics: testMetrics() });
  const said: string[] = [];
  reflector.onChange((change) => said.push(inShort(change)));
  const ended = reflector.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  return { reflector, said, stop, ended };
}

function inShort<T extends KubeObject>({ key, next, previous }: Change<T>): string {
  const name = key.split("/").at(-1);
  if (!next) return `-${name}`;
  return `${previous ? "~" : "+"}${name}`;
}

/** Waits until it holds; 20 s at most. */
export const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 20_000, interval: 20 });

/** Rejects with an error that has this code. */
export const failsWith = (call: Promise<unknown>, code: string) => expect(call).rejects.toMatchObject({ code });
