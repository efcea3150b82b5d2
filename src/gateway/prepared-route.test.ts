import { describe, expect, test } from "vitest";
import { createMetrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { ObservationWindows } from "./observation-window.ts";
import { prepareRoute } from "./prepared-route.ts";
import { destinationEntry, routeEntry } from "./testing.ts";

function copies(part: Partial<RouteEntry>, ...asked: Parameters<ReturnType<typeof prepareRoute>["copies"]>) {
  const entry = routeEntry(part);
  return prepareRoute(entry, createMetrics(), new ObservationWindows().of(entry.route)).copies(...asked);
}

const ACME = { id: "~acme", name: "acme", limit: 3, eventTypes: [] };

describe("the copies of an event", () => {
  test("are one for each inline destination and each WebhookDestination, with its limit", () => {
    expect(copies({ sharedCopies: [ACME] }, undefined)).toEqual([
      { destination: "0123456789abcdef/orders", limit: 16 },
      { destination: "~acme", limit: 3 },
    ]);
  });

  test("are only those whose filter lets the type through", () => {
    const part = {
      destinations: [destinationEntry("orders", { eventTypes: ["order.*"] })],
      sharedCopies: [
        { ...ACME, eventTypes: ["invoice.paid"] },
        { ...ACME, id: "~all" },
      ],
    };
    const names = (type?: string) => copies(part, type).map(({ destination }) => destination);
    expect(names("order.new")).toEqual(["0123456789abcdef/orders", "~all"]);
    expect(names("invoice.paid")).toEqual(["~acme", "~all"]);
    expect(names()).toEqual(["~all"]);
  });

  test("are one for the destination that the event names, and for no other", () => {
    const part = { destinations: [], destinationIdFrom: "json:/to" };
    expect(copies(part, "order.new", "~acme")).toEqual([{ destination: "~acme", limit: 1 }]);
    expect(copies(part, "order.new")).toEqual([]);
  });
});
