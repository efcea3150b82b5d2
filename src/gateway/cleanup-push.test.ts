import { describe, expect, it } from "vitest";
import { presetOf } from "../verification/verifier.ts";
import { acceptedAnswer } from "./accepted-answer.ts";
import { compileCleanup, runLocation } from "./cleanup-push.ts";
import { destinationEntry, routeEntry } from "./testing.ts";

const cleanup = (name: string, policy: string, eventTypes: readonly string[] = []) =>
  destinationEntry(name, { target: { type: "cleanup", policy }, eventTypes });

describe("what a route with cleanup destinations demands", () => {
  it("holds also where a filter keeps some events from them; the first one's policy is where answers lead", () => {
    const destinations = [destinationEntry("orders"), cleanup("a", "labels", ["run.*"]), cleanup("b", "tables")];
    expect(compileCleanup(routeEntry({ destinations }))).toEqual({
      namespace: "shop",
      policy: "labels",
      policies: new Map([
        ["0123456789abcdef/a", "labels"],
        ["0123456789abcdef/b", "tables"],
      ]),
    });
  });

  it("is nothing without one", () => expect(compileCleanup(routeEntry())).toBeUndefined());
});

describe("the answer to a push", () => {
  const rules = compileCleanup(routeEntry({ destinations: [cleanup("a", "labels")] }));
  const locationOf = (runId: string | undefined, of: typeof rules) =>
    runLocation({ route: { cleanup: of }, runId } as Parameters<typeof runLocation>[0]);

  it("leads to the run, whatever its id is made of", () => {
    expect(locationOf("2026-W05/a?b#c%41", rules)).toBe(
      "/v1/namespaces/shop/cleanup-policies/labels/runs/2026-W05%2Fa%3Fb%23c%2541",
    );
    expect(locationOf("r", undefined)).toBeUndefined();
    expect(locationOf(undefined, rules)).toBeUndefined();
  });

  it.each([204, 202])("has it as Location beside the event's id with %i", (status) => {
    const route = { entry: routeEntry({ response: { status } }), ack: undefined } as never;
    const { headers } = acceptedAnswer(route, { id: "e", replayed: true, location: "/v1/x" }, "id");
    expect(headers).toMatchObject({ location: "/v1/x", "davit-event-id": "e" });
    expect(acceptedAnswer(route, { id: "e", replayed: true }, "id").headers).not.toHaveProperty("location");
    expect(presetOf("queue-push").ack.status).toBe(204);
  });
});
