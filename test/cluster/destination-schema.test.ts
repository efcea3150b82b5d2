import { beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../support/cluster.ts";
import type { Answer, KubeObject } from "../support/control-plane/client.ts";
import { type CrdFixture, crdFixtures } from "../support/crd-fixtures.ts";

// A WebhookDestination is checked alike by the API server and by `davit validate` (docs/decisions/0005).
const cluster = sharedCluster();
let namespace: string;
let destinations: string;
beforeAll(async () => {
  namespace = await cluster.namespace();
  destinations = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/webhookdestinations`;
});

/** As `kubectl apply` does by default: unknown fields are refused. */
const STRICT = "dryRun=All&fieldValidation=Strict";
const here = (object: KubeObject) => ({ ...object, metadata: { ...object.metadata, namespace } });

/** What the server says to a fixture that is created, or replaces its predecessor. */
async function submit({ object, previous }: CrdFixture): Promise<Answer<KubeObject>> {
  if (previous === undefined) return cluster.admin.request("POST", `${destinations}?${STRICT}`, here(object));
  const { resourceVersion } = (await cluster.admin.create(destinations, here(previous))).metadata;
  const replaced = { ...here(object), metadata: { ...here(object).metadata, resourceVersion } };
  const answer = await cluster.admin.request("PUT", `${destinations}/${object.metadata.name}?${STRICT}`, replaced);
  await cluster.admin.delete(`${destinations}/${object.metadata.name}`);
  return answer;
}

describe("a WebhookDestination that is valid, or refused by Davit only", () => {
  test.each([...crdFixtures("webhook-destination/valid"), ...crdFixtures("webhook-destination/refused")])(
    "$name is accepted by the server",
    async (fixture) => {
      const { status, body } = await submit(fixture);
      expect([status, body["message"]]).toEqual([fixture.previous === undefined ? 201 : 200, undefined]);
    },
  );
});

describe("a WebhookDestination that breaks a rule of the CRD", () => {
  test.each(crdFixtures("webhook-destination/invalid"))("$name is refused by the server as well", async (fixture) => {
    const { status, body } = await submit(fixture);
    const field =
      fixture.path
        .split(".")
        .at(-1)
        ?.replace(/\[\d+\]$/, "") ?? "";
    expect([400, 422]).toContain(status);
    expect(JSON.stringify(body)).toContain(field);
  });
});
