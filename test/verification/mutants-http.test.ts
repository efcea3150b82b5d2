import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { caseMaterial } from "../../src/cli/verify/case-material.ts";
import type { MaterialSource } from "../../src/gateway/material/material-source.ts";
import { judgeCase, type SignatureCase } from "../../src/verification/vectors.ts";
import { judgeWithReference } from "../support/python-reference.ts";
import { startVectorGateway, type VectorGateway } from "../support/vector-gateway.ts";
import { vectors } from "../support/vectors.ts";
import { mutantsOf, type Mutant } from "./mutants/mutants.ts";
import { outcomeOf, wireCase, type WireCase } from "./wire.ts";

/** Requests under way at the same time. */
const WIDTH = 8;

/** A signature that leaves the body out is good for one body only: such mutants get a route each. */
const ONE_BODY: ReadonlySet<string> = new Set(["mailgun-body", "twilio-form"]);

let gateway: VectorGateway;
/** What the providers' servers hold, by route. */
const held = new Map<string, SignatureCase>();

const material: MaterialSource = {
  obtain: (wanted, { route }) =>
    caseMaterial(() => held.get(route) ?? { secret: "" }).obtain(wanted, { route, client: "", credentials: [] }),
};

beforeAll(async () => {
  gateway = await startVectorGateway({
    material,
    fetch: () => Promise.resolve({ status: 200, body: Buffer.alloc(0) }),
  });
});
afterAll(() => gateway.stop());

interface Sample {
  readonly mutant: Mutant;
  readonly wire: WireCase;
}

function samples(): readonly Sample[] {
  const mutants = vectors.filter(({ valid }) => valid).flatMap(mutantsOf);
  return mutants.flatMap((mutant) => {
    const wire = wireCase(mutant, ONE_BODY.has(mutant.scheme));
    return wire === undefined || wire.unsigned ? [] : [{ mutant, wire }];
  });
}

/** Answers in the order of the samples. Those with the same clock are sent side by side. */
async function answers(all: readonly Sample[]): Promise<readonly string[]> {
  const outcomes: string[] = [];
  const byClock = new Map<number | undefined, number[]>();
  for (const [index, { wire }] of all.entries()) {
    const { now } = wire.arrived;
    byClock.set(now, [...(byClock.get(now) ?? []), index]);
  }
  for (const indices of byClock.values()) {
    const waiting = indices.values();
    await Promise.all(Array.from({ length: WIDTH }, () => sendEach(all, waiting, outcomes)));
  }
  return outcomes;
}

async function sendEach(
  all: readonly Sample[],
  waiting: Iterator<number> & Iterable<number>,
  outcomes: string[],
): Promise<void> {
  for (const index of waiting) {
    const sample = all[index];
    if (!sample) continue;
    const { entry, request, arrived } = sample.wire;
    held.set(entry.route, arrived);
    const { status } = await gateway.send(entry, request);
    outcomes[index] = outcomeOf(status, sample.wire);
  }
}

/** What must come of it. Without a usable key the fault is ours, and the provider is to try again. */
function expectedOf(valid: boolean | undefined, { arrived }: WireCase): string {
  if (valid) return "accepted";
  const judged = judgeCase(arrived);
  const hasNoKey = "verdict" in judged && !judged.verdict.ok && judged.verdict.reason === "NoUsableKey";
  return hasNoKey ? "status 503" : "refused";
}

describe("changed signatures as requests to routes of their providers", () => {
  it("get 2xx or a refusal, as the verifier in Python decides over what arrives", async () => {
    const all = samples();
    const reference = await judgeWithReference(all.map(({ wire }) => wire.arrived));
    const outcomes = await answers(all);
    const wrong = all.flatMap(({ mutant, wire }, index) => {
      const expected = expectedOf(reference[index], wire);
      const { scheme, id, what } = mutant;
      return outcomes[index] === expected ? [] : [`${scheme} ${id} ${outcomes[index]} instead of ${expected}: ${what}`];
    });
    const accepted = reference.filter(Boolean).length;
    process.stdout.write(`${all.length} mutants over HTTP: ${accepted} accepted, ${all.length - accepted} refused\n`);
    expect(wrong).toEqual([]);
    expect(all.length).toBeGreaterThan(20_000);
  }, 300_000);
});
