// npm run bench [-- ingest|delivery] [--json] [--rounds N] [--ingest-requests N] [--delivery-requests N]
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { startRedis } from "../support/redis.ts";
import { benchDelivery, bytesPerEvent } from "./delivery.ts";
import { benchIngest } from "./ingest.ts";
import { type BenchResults, summary, table } from "./report.ts";
import { BODY_BYTES, CONNECTIONS, MAXMEMORY } from "./settings.ts";

const EVENTS_FOR_MEMORY = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
    "ingest-requests": { type: "string", default: "30000" },
    "delivery-requests": { type: "string", default: "100000" },
  },
});
const [part] = positionals;
if (positionals.length > 1 || (part !== undefined && part !== "ingest" && part !== "delivery")) {
  console.error("usage: npm run bench -- [ingest|delivery] [--json]");
  process.exit(2);
}
const rounds = Number(values.rounds);
const ingestRequests = Number(values["ingest-requests"]);
const deliveryRequests = Number(values["delivery-requests"]);

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
  (values.json ? console.error : console.log)(table(results));
  if (values.json) console.log(JSON.stringify(summary(results)));
} finally {
  await redis.stop();
}
