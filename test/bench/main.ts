import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { startRedis } from "../support/redis.ts";
import { benchDelivery, bytesPerEvent } from "./delivery.ts";
import { benchIngest } from "./ingest.ts";
import { type BenchResults, summary, table } from "./report.ts";
import { BODY_BYTES, CONNECTIONS, MAXMEMORY } from "./settings.ts";

const EVENTS_FOR_MEMORY = 20_000;

const USAGE = `npm run bench -- [ingest|delivery] [--json] [--rounds N] [--ingest-requests N] [--delivery-requests N]

Measures durable ingest and delivery against their baselines on this machine, in interleaved rounds; without a part, both.

  --json                 the table goes to stderr, one JSON line to stdout
  --rounds N             default 5
  --ingest-requests N    of each side and round; default 30000
  --delivery-requests N  of each side and round; default 100000
`;

/** @throws Error that says what is wrong with the arguments */
function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      rounds: { type: "string", default: "5" },
      "ingest-requests": { type: "string", default: "30000" },
      "delivery-requests": { type: "string", default: "100000" },
    },
  });
  const [part, more] = positionals;
  if (more !== undefined || (part !== undefined && part !== "ingest" && part !== "delivery")) {
    throw new RangeError("the part is ingest or delivery");
  }
  const count = (flag: "rounds" | "ingest-requests" | "delivery-requests") => {
    if (!/^[1-9]\d*$/.test(values[flag])) throw new RangeError(`--${flag}: "${values[flag]}" is not a whole number`);
    return Number(values[flag]);
  };
  return {
    part,
    help: values.help,
    json: values.json,
    rounds: count("rounds"),
    ingestRequests: count("ingest-requests"),
    deliveryRequests: count("delivery-requests"),
  };
}

function argumentsOrExit() {
  try {
    return readArguments();
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}\n\nusage: ${USAGE}`);
    return process.exit(2);
  }
}

const { part, help, json, rounds, ingestRequests, deliveryRequests } = argumentsOrExit();
if (help) {
  console.log(USAGE);
  process.exit(0);
}

const redis = await startRedis({ maxmemory: MAXMEMORY });
try {
  console.error(
    `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.versions.node}, appendfsync always, ` +
      `${CONNECTIONS} connections, ${BODY_BYTES} byte bodies, ${rounds} interleaved rounds`,
  );
  const results: BenchResults = {
    ...(part !== "delivery" && { ingest: await benchIngest(redis, rounds, ingestRequests) }),
    ...(part !== "ingest" && { delivery: await benchDelivery(redis, rounds, deliveryRequests) }),
    ...(part !== "ingest" && {
      bytesPerEvent: await bytesPerEvent(redis, Math.min(EVENTS_FOR_MEMORY, deliveryRequests)),
    }),
  };
  (json ? console.error : console.log)(table(results));
  if (json) console.log(JSON.stringify(summary(results)));
} finally {
  await redis.stop();
}
