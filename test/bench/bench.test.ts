import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { peakMemory } from "./cleanup/memory.ts";
import { plannerRate } from "./cleanup/planner.ts";
import { cleanupSummary, cleanupTable } from "./cleanup-report.ts";
import { closedLoop, parseAnswer } from "./closed-loop.ts";
import { bytesPerDestination } from "./fairness/memory.ts";
import { commandsPerSecond, infoNumber } from "./fairness/meters.ts";
import { idsOf, planDestinations, planPolicy } from "./fairness/plan.ts";
import { madeAt, stampedBody } from "./fairness/queue.ts";
import { fairnessSummary, fairnessTable } from "./fairness-report.ts";
import { summary } from "./report.ts";
import { BODY_BYTES } from "./settings.ts";
import { benchBody, signedRequests } from "./signed-requests.ts";
import { median, percentile, spread } from "./statistics.ts";
import { benchVerify } from "./verify.ts";
import { verifySummary, verifyTable } from "./verify-report.ts";

test("median, spread and percentile", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(spread([90, 100, 110])).toBeCloseTo(0.2);
  expect(
    percentile(
      Float64Array.from({ length: 100 }, (_, at) => at + 1),
      0.99,
    ),
  ).toBe(99);
});

test("an answer is complete with its last byte", () => {
  const whole = Buffer.from("HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nhello");
  expect(parseAnswer(whole.subarray(0, 20))).toBeUndefined();
  expect(parseAnswer(whole.subarray(0, whole.length - 1))).toBeUndefined();
  expect(parseAnswer(whole)).toEqual({ status: 202, length: whole.length });
  expect(parseAnswer(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"))?.status).toBe(204);
});

test("every request is sent once, with a body of the stated size, and refusals are counted", async () => {
  const ids = new Set<unknown>();
  let count = 0;
  const server = createServer((request, response) => {
    ids.add(request.headers["x-delivery-id"]);
    expect(request.headers["content-length"]).toBe(String(BODY_BYTES));
    request.resume().on("end", () => response.writeHead(++count % 10 === 0 ? 503 : 200).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const requests = signedRequests(200);
  // An explicit empty body: node:http would otherwise answer in chunks.
  server.prependListener("request", (_request, response) => response.setHeader("content-length", 0));
  const result = await closedLoop((server.address() as AddressInfo).port, requests, 8);
  server.close();
  expect([ids.size, result.failed, result.latencies.length]).toEqual([200, 20, 200]);
  expect(benchBody("a").length).toBe(BODY_BYTES);
});

test("the JSON summary compares each round with its own pair", () => {
  const rps = { davit: [100, 200, 300], plain: [50, 100, 150], ceiling: [200, 400, 600] };
  const p99Ms = { davit: 1.234, plain: 1, ceiling: 1 };
  expect(summary({ ingest: { rps, p99Ms }, delivery: { rps: { davit: [40], ceiling: [100] } } })).toEqual({
    ingest: { davit_rps: 200, plain_rps: 100, ceiling_rps: 400, vs_plain: 2, vs_ceiling: 0.5, p99_ms: 1.2 },
    delivery: { davit_rps: 40, ceiling_rps: 100, vs_ceiling: 0.4 },
  });
});

test("verification is compared pair by pair, and the table says whether the target is met", () => {
  const result = {
    github: { davitNs: [110, 240, 3_300], hmacNs: [100, 200, 3_000] },
    stripe: { davitNs: [150], hmacNs: [100] },
  };
  expect(verifySummary(result)).toEqual({ verify: { github: { vs_hmac: 1.1 }, stripe: { vs_hmac: 1.5 } } });
  const rows = verifyTable(result).split("\n").slice(1);
  expect(rows.map((row) => row.split(/ +/).at(-1))).toEqual(["met", "MISSED"]);
});

test("one short round times every provider, both sides", () => {
  const result = benchVerify(1, { warmUp: 1, calls: 5 });
  expect(Object.keys(result)).toEqual(["github", "stripe", "standard-webhooks"]);
  for (const { davitNs, hmacNs } of Object.values(result)) {
    expect(davitNs.length).toBe(hmacNs.length);
    for (const ns of [...davitNs, ...hmacNs]) expect(ns).toBeGreaterThan(0);
  }
});

test("a body says when it was made, and has the stated size", () => {
  const body = stampedBody(1_790_000_000_123.457);
  expect([body.length, madeAt(body)]).toEqual([BODY_BYTES, 1_790_000_000_123.457]);
  expect(JSON.parse(body.toString())).toMatchObject({ at: 1_790_000_000_123.457 });
});

test("commands are counted without the one that reads them", () => {
  const info = "# Stats\r\ntotal_connections_received:7\r\ntotal_commands_processed:1042\r\n";
  expect(infoNumber(info, "total_commands_processed")).toBe(1_042);
  expect(() => infoNumber(info, "commands_processed")).toThrow("commands_processed");
  expect(commandsPerSecond(1_042, 1_243, 4)).toBe(50);
});

test("memory of a destination is what 31 more of them cost, waiting or delivered", () => {
  const one = { waiting: 2_000, delivered: 1_000 };
  expect(bytesPerDestination({ one, most: { waiting: 2_000 + 31 * 300, delivered: 1_000 + 31 * 350 } })).toBe(350);
  expect(bytesPerDestination({ one, most: { waiting: 2_000 + 31 * 370, delivered: 1_000 + 31 * 350 } })).toBe(370);
});

test("gated destinations are WebhookDestinations with rate, circuit and disableAfter, the others have no gate", () => {
  const groups = [true, false].map((gated) => ({ name: "sink", count: 2, concurrency: 64, gated }));
  const known = planDestinations(groups, "http://127.0.0.1:9/");
  const [gated, plain] = groups.map((group) => idsOf(group).map((id) => known.get(id)?.policy.gate));
  for (const gate of gated ?? []) {
    expect(gate).toMatchObject({ rate: { requests: 1_000_000 }, circuit: {}, disableAfter: {} });
  }
  expect([gated?.length, plain]).toEqual([2, [undefined, undefined]]);
  expect(
    known.get(idsOf({ name: "sink", count: 1, concurrency: 1, gated: true })[0] ?? "")?.forRoute?.(planPolicy().route),
  ).toBeDefined();
});

test("fairness compares each round with its own pair, takes the worse of held and disabled, and says what is missed", () => {
  const result = {
    others: { besideSlow: [30, 20, 90], alone: [20, 20, 30] },
    parked: { held: 21.04, disabled: 50 },
    gates: { on: [90, 70, 85], off: [100, 100, 100] },
    digest: { many: [30, 50, 40], one: [100, 100, 100] },
    memory: { one: { waiting: 2_000, delivered: 900 }, most: { waiting: 2_000 + 31 * 300, delivered: 900 + 31 * 401 } },
  };
  expect(fairnessSummary(result)).toEqual({
    fairness: {
      others_p99_ratio: 1.5,
      parked_commands_per_s: 50,
      gates_on_vs_off: 0.85,
      digest_ratio: 0.4,
      bytes_per_destination: 401,
    },
  });
  const rows = fairnessTable(result).split("\n");
  expect(rows.map((row) => /\b(met|MISSED)\b/.exec(row)?.[1])).toEqual(["met", "MISSED", "met", "met", "MISSED"]);
});

test("cleanup is compared round by round, and the table says whether the target is met", () => {
  const result = {
    planner: [100_000, 300_000, 250_000],
    store: { dryRun: [2, 3, 1], enforce: [10, 10, 10], batches: [5, 9, 7] },
    memory: { few: 99.6, many: 151.2 },
  };
  expect(cleanupSummary(result)).toEqual({
    cleanup: { planner_versions_per_s: 250_000, dry_run_vs_enforce: 5, executor_vs_store: 0.7, rss_mib_1m: 151 },
  });
  const rows = cleanupTable(result).split("\n");
  expect(rows.map((row) => /met|MISSED/.exec(row)?.[0])).toEqual(["met", "met", "MISSED", "MISSED"]);
});

test("a run over a made-up bucket deletes all of it, in a process of its own", async () => {
  expect(await plannerRate(2_500)).toBeGreaterThan(0);
  expect(await peakMemory(2_500)).toBeGreaterThan(10);
});
