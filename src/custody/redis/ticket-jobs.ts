import { createHash } from "node:crypto";
import type { Ticket } from "../port.ts";

/** Jobs that a few tickets make, so that several workers get some of them. */
const FEW = 8;
/** Most tickets of one job. BullMQ's part of a ticket costs more than all that the custody scripts do for it. */
export const MOST_IN_A_JOB = 16;

/** What BullMQ carries: one ticket or several, each as destination, generation and slot. */
export interface TicketData {
  readonly t: readonly (readonly [destination: string, generation: number, slot: number])[];
}

/** A job of BullMQ and the tickets in it. */
export interface TicketJob {
  /** BullMQ adds no second job of this id while the first one is there. */
  readonly jobId: string;
  readonly data: TicketData;
}

/**
 * Puts tickets that are ready at the same time into jobs: up to eight by themselves, more of them together, at most 16 a job. Whoever is given the same
 * tickets makes the same jobs of them.
 */
export function jobsOf(tickets: readonly Ticket[]): TicketJob[] {
  const size = Math.min(MOST_IN_A_JOB, Math.ceil(tickets.length / FEW));
  const jobs: TicketJob[] = [];
  for (let from = 0; from < tickets.length; from += size) jobs.push(jobOf(tickets.slice(from, from + size)));
  return jobs;
}

/** @param at Unix ms for which it is written, when it is not ready yet: that one must not stand in the way of a ready one of the same generation */
export function jobOf(tickets: readonly Ticket[], at?: number): TicketJob {
  const ids = tickets.map(ticketId);
  const id =
    ids.length === 1 ? `${ids[0]}` : `${ids.length}*${createHash("sha256").update(ids.join("\n")).digest("hex")}`;
  return {
    jobId: at === undefined ? id : `${id}@${at}`,
    data: { t: tickets.map(({ destination, generation, slot }) => [destination, generation, slot]) },
  };
}

/** The tickets of a job. */
export function ticketsOf({ t }: TicketData): Ticket[] {
  return t.map(([destination, generation, slot]) => ({ destination, generation, slot }));
}

/** BullMQ refuses some characters in a job id; destinations are other people's words. */
function ticketId({ destination, slot, generation }: Ticket): string {
  return `${encodeURIComponent(destination)}#${slot}#${generation}`;
}
