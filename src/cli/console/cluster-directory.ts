import { DESTINATION_SECRET_TYPE, destinationsNamespace, INSTANCE_LABEL } from "../../api/names.ts";
import type { Config } from "../../config/schema.ts";
import type { Directory, KnownDestination, KnownRoute } from "../../console/directory.ts";
import { WEBHOOK_DESTINATIONS } from "../../controllers/webhook-destination/destination-types.ts";
import type { RouteObject } from "../../controllers/webhook-route/watching/route-index.ts";
import { WEBHOOK_ROUTES } from "../../controllers/webhook-route/route-types.ts";
import { NAMESPACES, SECRETS, type Secret } from "../../kube/core-types.ts";
import { type KubeObject, type Live, refOf } from "../../kube/objects.ts";
import { Reflector, type ReflectorOptions } from "../../kube/reflector.ts";
import type { KubeTransport } from "../../kube/transport.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Readiness } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { DESTINATION_PUBLICATION_KEY, readDestinationPublication } from "../../routes/destination-publication.ts";
import { readinessOf } from "../../runtime/health.ts";
import { DirectoryIndex, type Place } from "./directory-index.ts";

/** A right that is missing may only be on its way through the API server: asked again after about this, ms. */
const REFUSED_DELAY_MS = 5_000;

/** What {@link ClusterDirectory} needs. */
export interface ClusterDirectoryOptions {
  readonly transport: KubeTransport;
  readonly config: Pick<Config, "release" | "instance">;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * The console's directory of a cluster. It watches WebhookRoutes, names and labels of WebhookDestinations and of namespaces, and what the release publishes of
 * WebhookDestinations; no Secret of a tenant. Not ready until all are listed, nor once the API server has been silent for minutes: a token that was taken
 * away must not stay good for as long as nobody can be asked.
 */
export class ClusterDirectory implements Directory {
  readonly #options: ClusterDirectoryOptions;
  readonly #index = new DirectoryIndex();
  readonly #watches;
  readonly #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ClusterDirectoryOptions) {
    this.#options = options;
    this.#watches = [this.#namespaces(), this.#routes(), this.#labels(), this.#publications()] as const;
  }

  /** Begins to list and watch; does not wait for the API server. */
  start(): void {
    this.#running = Promise.all(this.#watches.map((watch) => watch.run(this.#stopping.signal)));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** What is missing before it can be believed. */
  readiness(): Readiness {
    return readinessOf(this.#watches, systemClock);
  }

  get isReady(): boolean {
    return this.readiness().ok;
  }

  route(namespace: string, name: string): KnownRoute | undefined {
    return this.#index.route(namespace, name);
  }

  routes(namespace: string): readonly KnownRoute[] {
    return this.#index.routes(namespace);
  }

  destination(namespace: string, id: string): KnownDestination | undefined {
    return this.#index.destination(namespace, id);
  }

  destinations(namespace: string): readonly KnownDestination[] {
    return this.#index.destinations(namespace);
  }

  byToken(token: string): KnownDestination | undefined {
    return this.#index.byToken(token);
  }

  #namespaces() {
    const watch = this.#watch({ type: NAMESPACES, metadataOnly: true, transform: namesAndLabels });
    watch.onChange(({ key, next }) => this.#index.putNamespace(key, next?.metadata.uid));
    return watch;
  }

  #routes() {
    const watch = this.#watch({ type: WEBHOOK_ROUTES, transform: targetsOnly });
    const { instance } = this.#options.config;
    watch.onChange(({ key, next }) => {
      const isOurs = next !== undefined && (next.spec.instance ?? "default") === instance;
      this.#index.putRoute(placeOf(key), isOurs ? next.spec : undefined);
    });
    return watch;
  }

  #labels() {
    const watch = this.#watch({ type: WEBHOOK_DESTINATIONS, metadataOnly: true, transform: namesAndLabels });
    watch.onChange(({ key, next }) => this.#index.putLabels(placeOf(key), next && (next.metadata.labels ?? {})));
    return watch;
  }

  #publications() {
    const { config } = this.#options;
    const watch = this.#watch({
      type: SECRETS,
      namespace: destinationsNamespace(config.release),
      fieldSelector: `type=${DESTINATION_SECRET_TYPE}`,
      labelSelector: `${INSTANCE_LABEL}=${config.instance}`,
    });
    watch.onChange(({ next, previous }) => {
      if (next) this.#onPublication(next);
      else if (previous) this.#index.putPublication(previous.metadata.name, undefined);
    });
    return watch;
  }

  #onPublication(secret: Live<Secret>): void {
    const { logger } = this.#options;
    const { name } = secret.metadata;
    const reading = readDestinationPublication(textOf(secret));
    if (!reading.ok) {
      logger.error({ secret: name, code: reading.code }, "what is published of a destination cannot be used");
      this.#index.putPublication(name, undefined);
      return;
    }
    const sharing = this.#index.putPublication(name, reading.publication);
    if (sharing.length === 0) return;
    const { namespace, name: destination } = reading.publication;
    logger.warn({ namespace, destination, sharing }, "destinations share a token, which opens none of them");
  }

  #watch<T extends KubeObject>(what: Pick<ReflectorOptions<T>, "type" | "transform"> & Partial<ReflectorOptions<T>>) {
    const { transport, metrics, logger } = this.#options;
    const { kind } = what.type;
    return new Reflector<T>({
      ...what,
      transport,
      metrics,
      refusedDelayMs: REFUSED_DELAY_MS,
      onError: (error) => logger.debug({ kind, err: error }, "a watch failed and is tried again"),
      onRefusal: (refusal, error) => {
        if (refusal === undefined) logger.info({ kind }, "the API server lets us look again");
        else logger.error({ kind, refusal }, error?.message ?? "the API server does not let us look");
      },
    });
  }
}

function placeOf(key: string): Place {
  const { namespace = "", name } = refOf(key);
  return { namespace, name };
}

function textOf({ data }: Secret): string {
  return Buffer.from(data?.[DESTINATION_PUBLICATION_KEY] ?? "", "base64").toString("utf8");
}

function namesAndLabels<T extends KubeObject>({ metadata }: Live<T>): Live<T> {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  return {
    metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }), ...(labels && { labels }) },
  } as Live<T>;
}

/** Of a route, whose it is and where its events go. */
function targetsOnly(route: Live<RouteObject>): Live<RouteObject> {
  const { instance, destinations, destinationSelector } = route.spec;
  return { ...namesAndLabels(route), spec: { instance, destinations, destinationSelector } } as Live<RouteObject>;
}
