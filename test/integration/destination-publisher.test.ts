import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { destinationSecretName } from "../../src/api/names.ts";
import { configSchema } from "../../src/config/schema.ts";
import { Stamps } from "../../src/controllers/publishing/stamps.ts";
import { WEBHOOK_DESTINATIONS } from "../../src/controllers/webhook-destination/destination-types.ts";
import {
  DestinationPublications,
  destinationPublisher,
  readDestinationSecret,
} from "../../src/controllers/webhook-destination/publications.ts";
import { DestinationReconciler } from "../../src/controllers/webhook-destination/reconciler.ts";
import { destinationOf, emptySide, publishedOf } from "../../src/controllers/webhook-destination/testing.ts";
import type { Operator } from "../../src/controllers/webhook-route/operator.ts";
import { Publications } from "../../src/controllers/webhook-route/publishing/publications.ts";
import { routePublisher } from "../../src/controllers/webhook-route/publishing/route-publisher.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { NAMESPACES, SECRETS } from "../../src/kube/core-types.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { published } from "../../src/routes/publication.ts";
import { entryOf } from "../../src/routes/testing.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";

let api: FakeApiServer;
let client: KubeClient;

beforeEach(async () => {
  api = await startFakeApiServer([NAMESPACES, SECRETS, WEBHOOK_DESTINATIONS]);
  for (const namespace of ["davit-routes", "davit-destinations", "shop"]) api.addNamespace(namespace);
  client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
});
afterEach(async () => {
  await client.transport.close();
  await api.stop();
});

/** The publishers of a controller whose clock stands at this moment. */
function publishers(now: number) {
  const [stamps, secrets] = [new Stamps({ now: () => now }), client.resource(SECRETS)];
  const [routes, publications] = [new Publications(), new DestinationPublications()];
  return {
    publications,
    routes: routePublisher({ secrets, stamps, publications: routes, instance: "default", namespace: "davit-routes" }),
    destinations: destinationPublisher({
      secrets,
      stamps,
      publications,
      instance: "default",
      namespace: "davit-destinations",
    }),
  };
}

const ACME = destinationOf("acme");
const TARGET = { name: destinationSecretName("default", "shop", "acme"), key: "shop/acme" };
const ROUTE = { name: "davit-route-a", route: "shop/a", namespaceUid: "a-namespace-uid" };
const live = async () => {
  const secret = await client.resource(SECRETS).find({ namespace: "davit-destinations", name: TARGET.name });
  return secret && readDestinationSecret(secret, "default");
};
const publication = (seq: number) =>
  ({ ...publishedOf(ACME).publication, seq }) as NonNullable<ReturnType<typeof publishedOf>["publication"]>;

describe("stamps", () => {
  test("grow over routes and WebhookDestinations together, also over what an earlier leader wrote of the other kind", async () => {
    await publishers(9_000).routes.publish(ROUTE, (_, seq) => published({ ...entryOf(), seq }));
    const { routes, destinations } = publishers(5);
    await destinations.publish(TARGET, (_, seq) => publication(seq));
    expect((await live())?.publication?.seq).toBe(9_001);
    const seen: number[] = [];
    await routes.publish(ROUTE, (_, seq) => {
      seen.push(seq);
      return published({ ...entryOf(), seq });
    });
    expect(seen).toEqual([9_002]);
  });
});

describe("a publication whose WebhookDestination the cache does not know", () => {
  const reconcile = async () => {
    const { publications, destinations: publisher } = publishers(1);
    await publisher.publish(TARGET, (before, seq) => (before === undefined ? publication(seq) : undefined));
    const operator = {
      client,
      clock: { now: () => 0, monotonic: () => 0 },
      config: configSchema.parse({ redis: { urlFile: "/unused" } }),
      destinations: emptySide({ publications, publisher }),
    } as unknown as Operator;
    return new DestinationReconciler(operator).reconcile("shop/acme", new AbortController().signal);
  };

  test("stays while the API server knows it", async () => {
    const { spec, metadata } = ACME;
    await client.resource(WEBHOOK_DESTINATIONS).create({ metadata: { namespace: "shop", name: metadata.name }, spec });
    expect(await reconcile()).toEqual({ requeueAfterMs: 1_000 });
    expect((await live())?.publication?.id).toBe("acme");
  });

  test("goes when the API server does not know it either, or it is of another instance", async () => {
    await reconcile();
    expect(await live()).toBeUndefined();
    const spec = { ...ACME.spec, instance: "another" };
    await client.resource(WEBHOOK_DESTINATIONS).create({ metadata: { namespace: "shop", name: "acme" }, spec });
    await reconcile();
    expect(await live()).toBeUndefined();
  });
});
