import { createServer as createTlsServer } from "node:https";
import { describe, expect, it } from "vitest";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import type { DestinationEntry } from "../../src/routes/entry.ts";
import { certificateAuthority } from "../support/certificates.ts";
import { FaultOutbox } from "../support/fault-outbox.ts";
import { heldPort } from "../support/held-port.ts";
import { destinations, until } from "../support/http-destinations.ts";
import { workerDestination } from "../support/worker-destination.ts";

const { serve, serveRaw, listen, createSender } = destinations();

/** A server that answers with these bytes, and then closes the connection or not. */
const serveBytes = (bytes: string, close: boolean) =>
  serveRaw((socket) => socket.once("data", () => (close ? socket.end(bytes) : socket.write(bytes))));

/** What a worker makes of the first attempt at a destination with this URL. */
async function outcomeOf(url: string, overrides: Partial<DestinationEntry> = {}) {
  const outbox = new FaultOutbox();
  const plain = workerDestination({ target: { type: "http", url }, timeoutMs: 3_000, ...overrides });
  const destination = { ...plain, policy: { ...plain.policy, gate: { seq: 1 } } };
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
    says: settle?.gate?.type,
  };
}

describe("the retry table, row by row, by real answers", () => {
  it.each([200, 201, 202, 203, 204, 205, 206, 226, 299])("%d is done", async (status) => {
    const url = await serve((_request, response) => response.writeHead(status).end());
    expect(await outcomeOf(url)).toMatchObject({ outcome: "delivered", status, says: "success" });
  });

  it.each([408, 425, 429, 500, 501, 502, 503, 504, 505, 507, 508, 511, 521, 599])(
    "%d is tried again, and a failure of the destination",
    async (status) => {
      const url = await serve((_request, response) => response.writeHead(status).end());
      expect(await outcomeOf(url)).toMatchObject({ outcome: "retry", status, says: "failure" });
    },
  );

  it.each([429, 503])("%d with Retry-After is tried again and holds the destination", async (status) => {
    const url = await serve((_request, response) => response.writeHead(status, { "retry-after": "7" }).end());
    expect(await outcomeOf(url)).toMatchObject({ outcome: "retry", status, says: "hold" });
  });

  it("410 is dead at once and disables the destination", async () => {
    const url = await serve((_request, response) => response.writeHead(410).end());
    expect(await outcomeOf(url)).toMatchObject({ outcome: "dead", reason: "Status410", says: "gone" });
  });

  const OTHER_4XX = [
    400, 401, 402, 403, 404, 405, 406, 407, 409, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 426, 428,
    431, 451, 499,
  ];
  it.each([300, 301, 302, 303, 304, 305, 306, 307, 308, 399, ...OTHER_4XX])(
    "%d is dead at once, wherever it points",
    async (status) => {
      let requests = 0;
      const url = await serve((_request, response) => {
        requests += 1;
        response.writeHead(status, { location: "/elsewhere", "retry-after": "1" }).end();
      });
      const dead = { outcome: "dead", status, reason: `Status${status}`, says: "rejected" };
      expect(await outcomeOf(url)).toMatchObject(dead);
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

  it.each([
    ["that ends without an answer", "", true],
    ["that ends within the head", "HTTP/1.1 200 OK\r\ncontent-le", true],
    ["that ends within the body", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhal", true],
    ["that ends between chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhal\r\n", true],
    ["that speaks no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", true],
    ["that goes silent within the body", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhal", false],
    ["that only promises an answer", "HTTP/1.1 102 Processing\r\n\r\n", false],
  ])("a connection %s is tried again", async (_, bytes, close) => {
    const { origin } = await serveBytes(bytes, close);
    const result = await outcomeOf(origin, { timeoutMs: close ? 3_000 : 300 });
    expect([result.outcome, result.says, result.status]).toEqual(["retry", "failure", undefined]);
    expect(result.error).toMatch(close ? /./ : /^timeout$/);
  });

  it("an answer with more than it promised is what it promised", async () => {
    const { origin } = await serveBytes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n", false);
    expect(await outcomeOf(origin)).toMatchObject({ outcome: "delivered", status: 200 });
  });

  it("a name that does not resolve is tried again", async () => {
    const { outcome, error } = await outcomeOf("http://no-such-host.invalid");
    expect([outcome, ["ENOTFOUND", "EAI_AGAIN"].includes(error ?? "")]).toEqual(["retry", true]);
  });

  it("a peer without TLS where it is wanted is tried again", async () => {
    const url = await serve((_request, response) => response.end());
    expect((await outcomeOf(url.replace("http:", "https:"))).outcome).toBe("retry");
  });

  it("a peer whose certificate nobody vouches for, or is for another name, is tried again", async () => {
    const authority = certificateAuthority("Nobody knows it");
    const { key, certificate: cert } = authority.issue("other.example.com", ["other.example.com"]);
    const port = await listen(createTlsServer({ key, cert }, (_request, response) => response.end()));
    const url = `https://127.0.0.1:${port}`;
    expect(await outcomeOf(url)).toMatchObject({ outcome: "retry", says: "failure", status: undefined });
    const tls = { ca: authority.certificate };
    expect(await outcomeOf(url, { tls })).toMatchObject({ outcome: "retry", error: "ERR_TLS_CERT_ALTNAME_INVALID" });
  });

  it("an address that is not allowed is tried again, for names may come to lead elsewhere", async () => {
    expect(await outcomeOf("http://169.254.169.254/")).toMatchObject({ outcome: "retry", error: "AddressNotAllowed" });
  });
});
