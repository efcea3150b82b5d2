// Takes Stripe's webhooks into a durable queue and works them off, in one small program.
// In a project of your own the import reads: import { createServer, createWorker } from "davit";
import { createServer, createWorker } from "../../src/sdk/index.ts";

const secret = process.env["STRIPE_WEBHOOK_SECRET"];
if (!secret) {
  console.error("set STRIPE_WEBHOOK_SECRET to the endpoint's signing secret (whsec_…)");
  process.exit(1);
}

// Both sides find each other by queue name and REDIS_URL.
const queueName = "stripe";

const worker = createWorker(
  async ({ body, id }, { attemptsMade }) => {
    const event = JSON.parse(body) as { type?: string };
    // The id stays the same over retries and replays: use it to make your own work idempotent.
    console.log(`${event.type ?? "event"} ${id}${attemptsMade > 0 ? `, attempt ${attemptsMade + 1}` : ""}`);
  },
  { queueName },
);
await worker.start();

const app = createServer({ secret, provider: "stripe", queueName, path: "/stripe" });
const port = Number(process.env["PORT"] ?? 8787);
const server = app.listen(port, () => console.log(`Stripe webhooks: http://localhost:${port}/stripe`));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    // First no more requests, then the handlers that still run.
    server.close(() => void worker.close());
    server.closeIdleConnections();
  });
}
