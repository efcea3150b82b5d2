import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { OBSERVATIONS_ANNOTATION, parseObservations, sumObservations } from "../../../src/routes/observations.ts";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { becomes } from "../../support/operator/polling.ts";
import { SIGNED, type Tenant } from "../../support/operator/tenant.ts";

/** What gateways see of requests, on its way into conditions. */
export function observedTests(release: () => OperatorRelease): void {
  describe.concurrent("a route whose requests fail verification", () => {
    test("says so and how to find out why, once, and that it is over; its readiness is another matter", async () => {
      const shop = await release().tenant();
      await shop.secret("in", { key: "one" });
      await shop.route("orders", SIGNED);
      await shop.route("quiet", SIGNED);
      for (const name of ["orders", "quiet"]) await becomes(() => shop.condition(name), "True/Reconciled");

      expect(await posted(shop, "another", 12)).toEqual([401]);
      await becomes(() => shop.condition("orders", "VerificationFailing"), "True/SignaturesRefused");
      const message = await shop.message("orders", "VerificationFailing");
      expect(message).toMatch(/^1\d of 1\d requests within 5 minutes failed verification/);
      expect(message).toContain("davit events --rejected");
      expect(await shop.condition("orders")).toBe("True/Reconciled");

      // The numbers go on, and nothing is written for them.
      const { resourceVersion } = (await shop.get("orders")).metadata;
      expect(await posted(shop, "another", 8)).toEqual([401]);
      await becomes(() => refusedOn(shop, "orders"), 20);
      // Nothing tells that nothing will be written: a second is long for a controller that has heard of it.
      await sleep(1_000);
      expect((await shop.get("orders")).metadata.resourceVersion).toBe(resourceVersion);

      expect(await posted(shop, "one", 40)).toEqual([202]);
      await becomes(() => shop.condition("orders", "VerificationFailing"), "False/AsExpected");
      await becomes(() => toldOf(shop, "orders"), ["SignaturesRefused", "VerificationRecovered"]);
      expect(await shop.condition("quiet", "VerificationFailing")).toBe("");
    });
  });
}

/** Posts so many events. @returns the different statuses */
async function posted(shop: Tenant, key: string, count: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => shop.post("orders", key)));
  return [...new Set(answers.map(({ status }) => status))];
}

/** Refused requests of a route, as the gateways' Leases say it. */
async function refusedOn(shop: Tenant, name: string): Promise<number | undefined> {
  const { cluster, namespace } = shop.release;
  const publication = await shop.publication(name);
  const key = publication !== undefined && "entry" in publication ? publication.entry.route : "";
  const leases = await cluster.admin.list(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`);
  const told = leases.map(({ metadata }) => parseObservations(metadata.annotations?.[OBSERVATIONS_ANNOTATION]));
  return sumObservations(told).get(key)?.refused;
}

/** Reasons of the Events that verification of a route has, in alphabetical order. */
async function toldOf(shop: Tenant, name: string): Promise<string[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${shop.namespace}/events`;
  const events = await shop.release.cluster.admin.list(path);
  return events
    .filter((event) => event["regarding"]?.name === name)
    .map((event) => String(event["reason"]))
    .filter((reason) => reason === "SignaturesRefused" || reason === "VerificationRecovered")
    .toSorted();
}
