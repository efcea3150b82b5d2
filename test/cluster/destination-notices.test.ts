import { afterAll, beforeAll, expect, test } from "vitest";
import { destinationPolicy, newEvent, settlement } from "../../src/custody/conformance/fixtures.ts";
import type { TakenCopy } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { sharedCluster } from "../support/cluster.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { becomes } from "../support/operator/polling.ts";
import { ControllerRelease } from "../support/roles/controller-release.ts";

const cluster = sharedCluster();
let release: ControllerRelease;
let mails: MailServer;

beforeAll(async () => {
  mails = await startMailServer({ plain: true });
  release = await ControllerRelease.create(cluster);
  const smtp = { host: "127.0.0.1", port: mails.port, tls: "None", from: "davit@example.com" };
  await release.start({ controller: { smtp } });
});
afterAll(async () => {
  await release.stop();
  await mails.stop();
});

/** An attempt after which the destination says that it is gone for good. */
async function gone(namespace: string, destination: string): Promise<void> {
  const store = new RedisStore({ url: release.redis.url });
  await store.start();
  try {
    const scope = { instance: release.instance, namespace };
    const policies = new Map([[destination, destinationPolicy({ destination, gate: { seq: 1 } })]]);
    const outbox = store.outbox(scope, { policies: () => [] });
    await store.inbox(scope).claim(newEvent({ destinations: [{ destination, limit: 1 }] }));
    const { copies } = await outbox.turn({ settles: [], takes: [{ destination, want: 1 }], policies });
    const copy = copies[0] as TakenCopy;
    const record = { attempt: copy.attempt, at: copy.now, action: "dead", status: 410 } as const;
    const settle = settlement(copy, "dead", { record, gate: { type: "gone", generation: 0 } });
    await outbox.turn({ settles: [settle], takes: [], policies });
  } finally {
    store.close();
  }
}

interface Told {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
}

test("a WebhookDestination that is disabled says so by an Event and by mail, and so it does when it is enabled", async () => {
  const shop = await cluster.namespace("shop");
  await release.destination(shop, "acme", { id: "customer 1", notify: { email: "ops@example.com" } });
  await becomes(() => release.destinationCondition(shop, "acme"), "True/Reconciled");
  const asked = () => release.redis.client().hget(`davit:${release.instance}:{${shop}}:notice-readers`, "email");
  await becomes(asked, "1");
  await gone(shop, "~customer%201");
  const events = async () => {
    const path = `/apis/events.k8s.io/v1/namespaces/${shop}/events`;
    const { items } = await cluster.admin.get<{ items: Told[] }>(path);
    return items.filter(({ reason }) => reason.startsWith("Destination"));
  };
  await becomes(async () => (await events()).map(({ reason }) => reason), ["DestinationDisabled"]);
  const [event] = await events();
  expect(event).toMatchObject({ type: "Warning", regarding: { kind: "WebhookDestination", name: "acme" } });
  expect(event?.note).toContain(`davit destinations enable 'customer 1' -n ${shop}`);
  await becomes(() => mails.mails.length, 1);
  expect(mails.mails[0]?.to).toEqual(["ops@example.com"]);
  expect(mails.mails[0]?.text).toContain(`Subject: [davit] destination ${shop}/acme is disabled\n`);
  const at = { metadata: { annotations: { "davit.dev/enable-at": new Date().toISOString() } } };
  await release.patchDestination(shop, "acme", at);
  await becomes(async () => (await events()).map(({ reason }) => reason).includes("DestinationRecovered"), true);
});
