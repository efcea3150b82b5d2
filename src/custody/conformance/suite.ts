import { describe } from "vitest";
import { claimConformance } from "./claim.ts";
import { handshakesConformance } from "./handshakes.ts";
import { noncesConformance } from "./nonces.ts";
import { providerIdsConformance } from "./provider-ids.ts";
import { turnConformance } from "./turn.ts";
import { deadLettersConformance } from "./dead-letters.ts";
import { retentionConformance } from "./retention.ts";
import { ticketsConformance } from "./tickets.ts";
import { statsConformance } from "./stats.ts";
import { statisticsConformance } from "./statistics.ts";
import { deadLetterPagesConformance, discardConformance, listsConformance } from "./operations.ts";
import { replaysConformance } from "./replays.ts";
import { shelvesConformance } from "./shelves.ts";
import { gatesConformance } from "./gates.ts";
import { noticesConformance } from "./notices.ts";
import type { Open } from "./fixtures.ts";

/** What every implementation of the custody port does. `open` gives a namespace of its own to each test. */
export function custodyConformance(open: Open): void {
  describe("claim", () => {
    claimConformance(open);
  });
  describe("nonces", () => {
    noncesConformance(open);
  });
  describe("handshakes", () => {
    handshakesConformance(open);
  });
  describe("ids at providers", () => {
    providerIdsConformance(open);
  });
  describe("turn", () => {
    turnConformance(open);
  });
  describe("gates", () => {
    gatesConformance(open);
  });
  describe("notices", () => {
    noticesConformance(open);
  });
  describe("dead letters", () => {
    deadLettersConformance(open);
  });
  describe("retention", () => {
    retentionConformance(open);
  });
  describe("tickets", () => {
    ticketsConformance(open);
  });
  describe("stats", () => {
    statsConformance(open);
  });
  describe("statistics", () => {
    statisticsConformance(open);
  });
  describe("lists", () => {
    listsConformance(open);
    deadLetterPagesConformance(open);
  });
  describe("replays", () => {
    replaysConformance(open);
  });
  describe("discard and cancel", () => {
    discardConformance(open);
  });
  describe("shelves", () => {
    shelvesConformance(open);
  });
}
