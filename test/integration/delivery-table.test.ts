import { describe, expect, it } from "vitest";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import type { DestinationEntry } from "../../src/routes/entry.ts";
import { FaultOutbox } from "../support/fault-outbox.ts";
import { heldPort } from "../support/held-port.ts";
import { destinations, until } from "../support/http-destinations.ts";
import { workerDestination } from "../support/worker-destination.ts";

const { serve, serveRaw, createSender } = destinations();

/** What a worker makes of the first attempt at a destination with this URL. */
async function outcomeOf(url: string, overrides: Partial<DestinationEntry> = {}) {
  const outbox = new FaultOutbox();
  const destination = workerDestination({ target: { type: "http", url }, timeoutMs: 3_000, ...overrides });
  const { id } = destination.entry;
  outbox.put(id, 1);
  const worker = new Worker({
    outbox,
    attempt: createHttpAttempt(createSender()),
    destinations: new Map([[id, destination]]),
  });
  await worker.start();
  await until(() => expect(outbox.settled.length).toBe(1));
  await worker.stop();
  const [settle] = outbox.settled;
  return {
    outcome: settle?.outcome,
    status: settle?.record.status,
    error: settle?.record.error,
    reason: settle?.record.reason,
  };
}

describe("the retry table, row by row, by real answers", () => {
  it.each([200, 201, 202, 204, 299])("%d is done", async (status) => {
    const url = await serve((_request, response) => response.writeHead(status).end());
    expect(await outcomeOf(url)).toMatchObject({ outcome: "delivered", status });
  });

  it.each([408, 425, 429, 500, 502, 503, 504, 599])("%d is tried again", async (status) => {
    const url = await serve((_request, response) => response.writeHead(status).end());
    expect(await outcomeOf(url)).toMatchObject({ outcome: "retry", status });
  });

  it.each([300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422, 451])(
    "%d is dead at once, wherever it points",
    async (status) => {
      let requests = 0;
      const url = await serve((_request, response) => {
        requests += 1;
        response.writeHead(status, { location: "/elsewhere", "retry-after": "1" }).end();
      });
      expect(await outcomeOf(url)).toMatchObject({ outcome: "dead", status, reason: `Status${status}` });
      expect(requests).toBe(1);
    },
  );

  it("a timeout is tried again", async () => {
    const { origin } = await serveRaw(() => undefined);
    expect(await outcomeOf(origin, { timeoutMs: 200 })).toMatchObject({ outcome: "retry", error: "timeout" });
  });

  it("a connection that is refused or reset is tried again", async () => {
    expect(await outcomeOf(`http://127.0.0.1:${await heldPort()}`)).toMatchObject({
      outcome: "retry",
      error: "ECONNREFUSED",
    });
    const { origin } = await serveRaw((socket) => socket.once("data", () => socket.resetAndDestroy()));
    expect(await outcomeOf(origin)).toMatchObject({ outcome: "retry", error: "ECONNRESET" });
  });

  it("a name that does not resolve is tried again", async () => {
    const { outcome, error } = await outcomeOf("http://no-such-host.invalid");
    expect([outcome, ["ENOTFOUND", "EAI_AGAIN"].includes(error ?? "")]).toEqual(["retry", true]);
  });

  it("a peer without TLS where it is wanted is tried again", async () => {
    const url = await serve((_request, response) => response.end());
    expect((await outcomeOf(url.replace("http:", "https:"))).outcome).toBe("retry");
  });

  it("an address that is not allowed is tried again, for names may come to lead elsewhere", async () => {
    expect(await outcomeOf("http://169.254.169.254/")).toMatchObject({ outcome: "retry", error: "AddressNotAllowed" });
  });
});
