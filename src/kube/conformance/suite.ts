import { describe } from "vitest";
import { applyConformance } from "./apply.ts";
import { callsConformance } from "./calls.ts";
import { electionConformance } from "./election.ts";
import { eventsConformance } from "./events.ts";
import { faultsConformance } from "./faults.ts";
import type { ConformanceServer, FaultyServer } from "./fixtures.ts";
import { watchingConformance } from "./watching.ts";

/** What the client does on any Kubernetes API server: the fake one and the real one. */
export function kubeConformance(server: () => ConformanceServer): void {
  describe("calls", () => {
    callsConformance(server);
  });
  describe("server-side apply", () => {
    applyConformance(server);
  });
  describe("list and watch", () => {
    watchingConformance(server);
  });
  describe("leader election", () => {
    electionConformance(server);
  });
  describe("events", () => {
    eventsConformance(server);
  });
}

/** What it survives on a server that can be harmed. */
export function kubeFaultConformance(server: () => FaultyServer): void {
  describe("faults", () => {
    faultsConformance(server);
  });
}
