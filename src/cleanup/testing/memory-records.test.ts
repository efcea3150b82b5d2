import { describe } from "vitest";
import { recordsConformance } from "../conformance/records.ts";
import { snapshot } from "../run/testing.ts";
import { MemoryRecords } from "./memory-records.ts";

const POLICY_UID = "policy-uid";

describe("records in memory", () => {
  recordsConformance(async () => {
    const records = new MemoryRecords(POLICY_UID);
    const owner = {
      admit: async (runId: string, scope: string, cutoff: string) => {
        const spec = { policyRef: { name: "p", uid: POLICY_UID }, runId, scope, cutoff };
        const now = Date.now();
        const status = { phase: "Pending", admittedAt: new Date(now).toISOString(), snapshot: snapshot() } as const;
        return records.add(runId, spec, status, now).name;
      },
      suspend: async () => {
        records.suspended = true;
      },
      remove: async () => {
        records.hasPolicy = false;
      },
    };
    return { owner, records, others: records };
  });
});
