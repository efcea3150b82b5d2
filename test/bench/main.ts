import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { startControlPlane } from "../support/control-plane.ts";
import { startRedis } from "../support/redis.ts";
import { startCephGateway } from "../support/object-store/ceph.ts";
import { benchCleanup, FULL_CLEANUP, QUICK_CLEANUP } from "./cleanup.ts";
import { cleanupSummary, cleanupTable } from "./cleanup-report.ts";
import { benchDelivery, bytesPerEvent } from "./delivery.ts";
import { benchFairness, FULL, QUICK } from "./fairness.ts";
import { fairnessSummary, fairnessTable } from "./fairness-report.ts";
import { benchIngest } from "./ingest.ts";
import { benchReconcile } from "./reconcile.ts";
import { buildProgram } from "./reconcile/program.ts";
import { reconcileSummary, reconcileTable } from "./reconcile-report.ts";
import { type BenchResults, summary, table } from "./report.ts";
import { BODY_BYTES, CONNECTIONS, MAXMEMORY } from "./settings.ts";
import { benchVerify, VERIFY_BODY_BYTES } from "./verify.ts";
import { verifySummary, verifyTable } from "./verify-report.ts";

const EVENTS_FOR_MEMORY = 20_000;
const ROUTES_PER_NAMESPACE = 20;
const STEADY_MS = 30_000;
/** Longer than any run: what a compaction takes away would not show as growth. */
const NO_COMPACTION = "1h";

const PARTS = ["ingest", "delivery", "reconcile", "verify", "fairness", "cleanup"];

const USAGE = `npm run bench -- [ingest|delivery|reconcile|verify|fairness|cleanup] [--json] [--quick] [--rounds N] [--ingest-requests N] [--delivery-requests N] [--routes N] [--edits N]

Measures durable ingest and delivery against their baselines on this machine, in interleaved rounds; without a part, both. The part reconcile
measures the controller on a Kubernetes control plane of its own, against its targets for 1,000 routes on 2 cores. The part verify measures
verification against the bare HMAC over the same bytes. The part fairness measures what many destinations cost each other, against its targets. The part
cleanup measures retention runs on a real S3 server of its own, against what that server does in batches.

  --json                 the table goes to stderr, one JSON line to stdout
  --quick                of fairness and cleanup: small sizes, to see that it runs
  --rounds N             default 5; fairness always takes 3, cleanup 4
  --ingest-requests N    of each side and round; default 30000
  --delivery-requests N  of each side and round; default 100000
  --routes N             of reconcile, ${ROUTES_PER_NAMESPACE} in each namespace; default 1000
  --edits N              of Secrets, one at a time; default 200
`;

/** @throws Error that says what is wrong with the arguments */
function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      rounds: { type: "string", default: "5" },
      "ingest-requests": { type: "string", default: "30000" },
      "delivery-requests": { type: "string", default: "100000" },
      routes: { type: "string", default: "1000" },
      edits: { type: "string", default: "200" },
    },
  });
  const [part, more] = positionals;
  if (more !== undefined || (part !== undefined && !PARTS.includes(part))) {
    throw new RangeError(`the part is one of ${PARTS.join(", ")}`);
  }
  const count = (flag: Exclude<keyof typeof values, "help" | "json" | "quick">) => {
    if (!/^[1-9]\d*$/.test(values[flag])) throw new RangeError(`--${flag}: "${values[flag]}" is not a whole number`);
    return Number(values[flag]);
  };
  return {
    part,
    help: values.help,
    json: values.json,
    quick: values.quick,
    rounds: count("rounds"),
    ingestRequests: count("ingest-requests"),
    deliveryRequests: count("delivery-requests"),
    routes: count("routes"),
    edits: count("edits"),
  };
}

type Arguments = ReturnType<typeof readArguments>;

function argumentsOrExit(): Arguments {
  try {
    return readArguments();
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}\n\nusage: ${USAGE}`);
    return process.exit(2);
  }
}

/** The table, and what `--json` prints. */
interface Report {
  readonly text: string;
  readonly summary: object;
}

async function throughput({ part, rounds, ingestRequests, deliveryRequests }: Arguments): Promise<Report> {
  const redis = await startRedis({ maxmemory: MAXMEMORY });
  try {
    console.error(
      `${MACHINE}, appendfsync always, ${CONNECTIONS} connections, ${BODY_BYTES} byte bodies, ${rounds} interleaved rounds`,
    );
    const results: BenchResults = {
      ...(part !== "delivery" && { ingest: await benchIngest(redis, rounds, ingestRequests) }),
      ...(part !== "ingest" && { delivery: await benchDelivery(redis, rounds, deliveryRequests) }),
      ...(part !== "ingest" && {
        bytesPerEvent: await bytesPerEvent(redis, Math.min(EVENTS_FOR_MEMORY, deliveryRequests)),
      }),
    };
    return { text: table(results), summary: summary(results) };
  } finally {
    await redis.stop();
  }
}

async function reconcile({ routes, edits }: Arguments): Promise<Report> {
  const program = buildProgram();
  const plane = await startControlPlane({ crds: "davit", etcdCompactionInterval: NO_COMPACTION });
  try {
    const namespaces = Math.ceil(routes / ROUTES_PER_NAMESPACE);
    console.error(`${MACHINE}, ${routes} routes in ${namespaces} namespaces, API server and etcd on the same machine`);
    const result = await benchReconcile(plane, { namespaces, routes, edits, steadyMs: STEADY_MS }, program.main);
    return { text: reconcileTable(result), summary: reconcileSummary(result) };
  } finally {
    await plane.stop();
    program.remove();
  }
}

function verify({ rounds }: Arguments): Report {
  console.error(`${MACHINE}, ${VERIFY_BODY_BYTES} byte bodies, ${rounds} rounds of interleaved pairs`);
  const result = benchVerify(rounds);
  return { text: verifyTable(result), summary: verifySummary(result) };
}

async function fairness({ quick }: Arguments): Promise<Report> {
  // What Redis rewrites meanwhile would come upon one side of a comparison only.
  const redis = await startRedis({ maxmemory: MAXMEMORY, args: ["--auto-aof-rewrite-percentage", "0"] });
  try {
    console.error(`${MACHINE}, appendfsync always, ${BODY_BYTES} byte bodies${quick ? ", small sizes" : ""}`);
    const result = await benchFairness(redis, quick ? QUICK : FULL, (what) => console.error(what));
    return { text: fairnessTable(result), summary: fairnessSummary(result) };
  } finally {
    await redis.stop();
  }
}

async function cleanup({ quick }: Arguments): Promise<Report> {
  const ceph = await startCephGateway();
  try {
    console.error(`${MACHINE}, Ceph RGW on the same machine${quick ? ", small sizes" : ""}`);
    const result = await benchCleanup(ceph, quick ? QUICK_CLEANUP : FULL_CLEANUP, (what) => console.error(what));
    return { text: cleanupTable(result), summary: cleanupSummary(result) };
  } finally {
    await ceph.stop();
  }
}

const RUNS: Readonly<Record<string, (chosen: Arguments) => Report | Promise<Report>>> = {
  reconcile,
  verify,
  fairness,
  cleanup,
};

const MACHINE = `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.versions.node}`;

const chosen = argumentsOrExit();
if (chosen.help) {
  console.log(USAGE);
  process.exit(0);
}
// An end by a signal is an end as well, at which whatever was started ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const report = await (RUNS[chosen.part ?? ""] ?? throughput)(chosen);
(chosen.json ? console.error : console.log)(report.text);
if (chosen.json) console.log(JSON.stringify(report.summary));
