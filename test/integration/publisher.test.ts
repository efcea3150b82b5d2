import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  entryIn,
  Publications,
  readEntrySecret,
  writtenEntrySecret,
} from "../../src/controllers/webhook-route/publishing/publications.ts";
import { Stamps } from "../../src/controllers/publishing/stamps.ts";
import { type Draft, routePublisher } from "../../src/controllers/webhook-route/publishing/route-publisher.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { NAMESPACES, SECRETS } from "../../src/kube/core-types.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { published, released } from "../../src/routes/publication.ts";
import { entryOf } from "../../src/routes/testing.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";

const NAMESPACE = "davit-routes";
let api: FakeApiServer;
let client: KubeClient;
let now: number;

beforeEach(async () => {
  now = 1_000_000;
  api = await startFakeApiServer([NAMESPACES, SECRETS]);
  api.addNamespace(NAMESPACE);
  client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
});
afterEach(async () => {
  await client.transport.close();
  await api.stop();
});

const target = (name: string) => ({
  name: `davit-route-${name}`,
  route: `shop/${name}`,
  namespaceUid: "a-namespace-uid",
});

function publisher() {
  const publications = new Publications();
  const stamps = new Stamps({ now: () => now });
  const secrets = client.resource(SECRETS);
  return {
    publications,
    publisher: routePublisher({ secrets, stamps, publications, instance: "default", namespace: NAMESPACE }),
  };
}

/** Publishes an entry whose path says what was published before it. */
const after: Draft = (before, seq) => published({ ...entryOf(), seq, path: `${entryIn(before)?.path ?? ""}/x` });
const live = async (name: string) =>
  readEntrySecret(await client.resource(SECRETS).get({ namespace: NAMESPACE, name: `davit-route-${name}` }));
const seqOf = async (name: string) => (await live(name)).publication?.seq;

describe("the publisher", () => {
  test("stamps a seq that grows with every write, also when the clock goes back", async () => {
    const one = publisher();
    await one.publisher.publish(target("a"), after);
    expect(await seqOf("a")).toBe(1_000_000);
    now = 5;
    await one.publisher.publish(target("b"), after);
    expect(await seqOf("b")).toBe(1_000_001);
    now = 2_000_000;
    await one.publisher.publish(target("a"), after);
    expect(await seqOf("a")).toBe(2_000_000);
  });

  test("goes on above what an earlier leader with a fast clock has written and its own watch has not shown", async () => {
    now = 9_000_000;
    await publisher().publisher.publish(target("a"), after);
    now = 1_000;
    await publisher().publisher.publish(target("b"), after);
    expect(await seqOf("b")).toBe(9_000_001);
  });

  test("drafts anew over what somebody else has written meanwhile", async () => {
    const [mine, other] = [publisher(), publisher()];
    await mine.publisher.publish(target("a"), after);
    await other.publisher.publish(target("a"), after);
    await mine.publisher.publish(target("a"), after);
    expect(entryIn(await live("a"))?.path).toBe("/x/x/x");
  });

  test("writes nothing when the draft finds nothing to say, and knows at once what it wrote", async () => {
    const { publisher: one, publications } = publisher();
    expect(await one.publish(target("a"), () => undefined)).toBe(false);
    expect(await one.publish(target("a"), after)).toBe(true);
    expect(publications.get("davit-route-a")?.publication?.seq).toBe(1_000_000);
  });

  test("writes one after the other, in the order in which it was asked", async () => {
    const { publisher: one } = publisher();
    const names = ["a", "b", "c", "d", "e"];
    await Promise.all(names.map((name) => one.publish(target(name), after)));
    const seqs = await Promise.all(names.map(seqOf));
    expect(seqs).toEqual(seqs.toSorted((a = 0, b = 0) => a - b));
    expect(new Set(seqs).size).toBe(5);
  });

  test("deletes only what is still over", async () => {
    const { publisher: one } = publisher();
    await one.publish(target("a"), (_, seq) => released(entryOf(), seq, 5));
    expect(await one.remove("davit-route-a", (secret) => entryIn(secret) !== undefined)).toBe(false);
    await publisher().publisher.publish(target("a"), after);
    await expect(one.remove("davit-route-a", (secret) => entryIn(secret) === undefined)).rejects.toMatchObject({
      code: "PublishConflict",
    });
    expect(entryIn(await live("a"))).toBeDefined();
    expect(await one.remove("davit-route-a", () => true)).toBe(true);
  });
});

describe("publications", () => {
  test("take the route's name from the entry when the annotation is gone", async () => {
    await publisher().publisher.publish(target("a"), after);
    const secret = await client.resource(SECRETS).get({ namespace: NAMESPACE, name: "davit-route-a" });
    const { annotations: _, ...metadata } = secret.metadata;
    expect(readEntrySecret({ ...secret, metadata }).route).toBe("shop/orders");
    expect(readEntrySecret({ ...secret, metadata, data: {} })).toMatchObject({
      route: "",
      problem: { code: "Malformed" },
    });
    expect(writtenEntrySecret(secret, published(entryOf())).route).toBe("shop/a");
  });
});
