// A worker of one's own: Davit makes a Deployment of this image for the route, and hands it the route's events.
import { createWorker } from "davit";

// Returning is success. Throwing is a failure, tried again by the route's `delivery.retry`, unless the error is `permanent`.
const worker = createWorker(async ({ body, id }, { attempt }) => {
  const order = JSON.parse(body);
  if (typeof order.total !== "number") throw Object.assign(new Error("an order without a total"), { permanent: true });
  // The id stays the same over retries and replays: use it to make your own work idempotent.
  console.log(`order ${order.number}: ${order.total}, event ${id}, attempt ${attempt}`);
});

// In the Pod DAVIT_CONFIG says which route this is. Probes, metrics and an orderly end on SIGTERM come with it.
await worker.start();
