import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import { FaultOutbox } from "../support/fault-outbox.ts";
import { codeOf, destinations, post, readBody, statusOf, until } from "../support/http-destinations.ts";
import { workerDestination } from "../support/worker-destination.ts";

const { serve, serveRaw, createSender } = destinations();
/** undici uses a connection again one turn of the event loop after its response. */
const freed = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("a request", () => {
  it("carries method, path, headers and the bytes as they are, and brings status, Retry-After and the head of the body", async () => {
    const seen: unknown[] = [];
    const origin = await serve(async (request, response) => {
      seen.push(request.method, request.url, request.headers["content-type"], await readBody(request));
      response.writeHead(429, { "retry-after": "120" }).end("slow down");
    });
    const result = await createSender().send(post(origin));
    expect(result).toMatchObject({ type: "response", status: 429, retryAfter: "120", head: "slow down" });
    expect(seen).toEqual(["POST", "/hook?x=1", "application/json", '{"a":1}']);
  });

  it("brings no Retry-After when the field was sent twice", async () => {
    const origin = await serve((_request, response) =>
      response
        .writeHead(
          503,
          [
            ["retry-after", "1"],
            ["retry-after", "2"],
          ].flat(),
        )
        .end(),
    );
    const result = await createSender().send(post(origin));
    expect(result).toMatchObject({ type: "response", status: 503 });
    expect(result).not.toHaveProperty("retryAfter");
  });

  it("does not follow redirects", async () => {
    let requests = 0;
    const origin = await serve((_request, response) => {
      requests += 1;
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    expect(statusOf(await createSender().send(post(origin)))).toBe(307);
    expect(requests).toBe(1);
  });

  it("reads past interim responses to the final one", async () => {
    const origin = await serve((_request, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: "</a>; rel=preload" });
      response.writeHead(202).end("done");
    });
    expect(await createSender().send(post(origin))).toMatchObject({ status: 202, head: "done" });
  });

  it("uses a connection again after a response whose body fits", async () => {
    const ports = new Set<number | undefined>();
    const origin = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      response.end("x".repeat(10_000));
    });
    const sender = createSender();
    for (let i = 0; i < 5; i++) {
      expect(statusOf(await sender.send(post(origin)))).toBe(200);
      await freed();
    }
    expect(ports.size).toBe(1);
  });

  it("keeps 2 KiB of a huge response, takes its status for the answer and closes the connection", async () => {
    let closed = false;
    const origin = await serve((_request, response) => {
      response.on("close", () => (closed = true));
      const flood = (): void => {
        while (response.write("y".repeat(16_384)));
      };
      response.on("drain", flood);
      flood();
    });
    const result = await createSender().send(post(origin));
    expect(result).toMatchObject({ type: "response", status: 200, head: "y".repeat(2_048) });
    await until(() => expect(closed).toBe(true));
  });

  it("opens no more connections to an origin than allowed; the others wait and go out", async () => {
    let open = 0;
    let most = 0;
    const origin = await serve((_request, response) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open -= 1;
        response.end();
      }, 5);
    });
    const sender = createSender({ connections: 2 });
    const results = await Promise.all(Array.from({ length: 10 }, () => sender.send(post(origin))));
    expect(results.map(statusOf)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(most).toBe(2);
  });

  it("closes the idle connections of the origin that was used least recently", async () => {
    const servers = await Promise.all(
      Array.from({ length: 3 }, () =>
        serveRaw((socket) => {
          socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
        }),
      ),
    );
    const sender = createSender({ maxOrigins: 2 });
    for (const { origin } of servers) expect(statusOf(await sender.send(post(origin)))).toBe(200);
    await until(() =>
      expect(servers.map(({ sockets }) => sockets[0]?.readyState === "open")).toEqual([false, true, true]),
    );
  });
});

describe("the timeout", () => {
  it("covers a server that never answers", async () => {
    const { origin, sockets } = await serveRaw(() => undefined);
    expect(codeOf(await createSender().send(post(origin, { timeoutMs: 150 })))).toBe("timeout");
    await until(() => expect(sockets[0]?.readyState).not.toBe("open"));
  });

  it("covers the body, also while it trickles", async () => {
    const origin = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "1000" });
      const trickle = setInterval(() => response.write("z"), 20);
      response.on("close", () => clearInterval(trickle));
    });
    expect(codeOf(await createSender().send(post(origin, { timeoutMs: 200 })))).toBe("timeout");
  });

  it("covers the wait for a free connection, and the late request then writes nothing", async () => {
    const release: (() => void)[] = [];
    const bodies: string[] = [];
    const origin = await serve(async (request, response) => {
      bodies.push(await readBody(request));
      release.push(() => response.end());
    });
    const sender = createSender({ connections: 1 });
    const first = sender.send(post(origin, { body: Buffer.from("first") }));
    await until(() => expect(release.length).toBe(1));
    expect(codeOf(await sender.send(post(origin, { body: Buffer.from("late"), timeoutMs: 100 })))).toBe("timeout");
    release[0]?.();
    expect(statusOf(await first)).toBe(200);
    const third = sender.send(post(origin, { body: Buffer.from("third") }));
    await until(() => expect(release.length).toBe(2));
    release[1]?.();
    expect(statusOf(await third)).toBe(200);
    expect(bodies).toEqual(["first", "third"]);
  });
});

describe("the moment of the write", () => {
  it("comes when a socket is connected, and a refusal puts no byte on the wire and keeps the connection usable", async () => {
    const { origin, bytes, sockets } = await serveRaw((socket) => {
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    });
    const sender = createSender();
    let connectedWhenAsked = 0;
    const beforeWrite = (): boolean => {
      connectedWhenAsked = sockets.length;
      return false;
    };
    expect(await sender.send(post(origin, { beforeWrite }))).toEqual({ type: "notSent" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(bytes()).toBe(0);
    expect(statusOf(await sender.send(post(origin)))).toBe(200);
    const after = bytes();
    await freed();
    expect(await sender.send(post(origin, { beforeWrite }))).toEqual({ type: "notSent" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(connectedWhenAsked).toBe(1);
    expect(bytes()).toBe(after);
    expect(sockets.length).toBe(1);
  });

  it("is asked once a request", async () => {
    let asked = 0;
    const origin = await serve((_request, response) => response.end());
    const sender = createSender();
    await sender.send(post(origin, { beforeWrite: () => ++asked > 0 }));
    expect(asked).toBe(1);
  });

  it("ends the reach of the signal: what is written runs on, what is not is given up without a byte", async () => {
    const release: (() => void)[] = [];
    const bodies: string[] = [];
    const origin = await serve(async (request, response) => {
      bodies.push(await readBody(request));
      release.push(() => response.end());
    });
    const sender = createSender({ connections: 1 });
    const { signal, abort } = (() => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: () => controller.abort() };
    })();
    const written = sender.send(post(origin, { signal, body: Buffer.from("written") }));
    await until(() => expect(release.length).toBe(1));
    const queued = sender.send(post(origin, { signal, body: Buffer.from("queued") }));
    abort();
    expect(await queued).toEqual({ type: "notSent" });
    expect(await sender.send(post(origin, { signal }))).toEqual({ type: "notSent" });
    release[0]?.();
    expect(statusOf(await written)).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(bodies).toEqual(["written"]);
  });
});

describe("a worker over HTTP", () => {
  it("delivers signed events and hands back at its stop what is not on the wire", async () => {
    const outbox = new FaultOutbox();
    const seen: IncomingMessage["headers"][] = [];
    const release: (() => void)[] = [];
    const origin = await serve((request, response) => {
      seen.push(request.headers);
      release.push(() => response.end());
    });
    const destination = workerDestination({
      target: { type: "http", url: `${origin}/hook` },
      concurrency: 4,
      signing: {
        scheme: "StandardWebhooks",
        header: "x-signature",
        keys: [
          { id: "0", use: "Signing", state: "current", since: 0, value: Buffer.from("a secret").toString("base64") },
        ],
      },
    });
    const id = destination.entry.id;
    outbox.put(id, 6);
    const worker = new Worker({
      outbox,
      attempt: createHttpAttempt(createSender({ connections: 2 })),
      destinations: new Map([[id, destination]]),
    });
    await worker.start();
    await until(() => expect(release.length).toBe(2));
    const stopping = worker.stop();
    await until(() => expect(outbox.settled.map(({ outcome }) => outcome)).toEqual(["handedBack", "handedBack"]));
    for (const finish of release) finish();
    await stopping;
    expect(outbox.settled.map(({ outcome }) => outcome)).toEqual([
      "handedBack",
      "handedBack",
      "delivered",
      "delivered",
    ]);
    expect(outbox.waiting(id)).toBe(4);
    expect(seen.length).toBe(2);
    expect(seen[0]).toMatchObject({
      "webhook-id": "event-1",
      "idempotency-key": "event-1",
      "davit-attempt": "1",
      "davit-sequence": "1",
      "davit-route": "shop/orders",
      "webhook-signature": expect.stringMatching(/^v1,/),
    });
  });

  it("opens no more connections to a destination than it may have deliveries under way", async () => {
    const outbox = new FaultOutbox();
    const ports = new Set<number | undefined>();
    let running = 0;
    let most = 0;
    const origin = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      most = Math.max(most, ++running);
      setTimeout(() => {
        running -= 1;
        response.end("ok");
      }, 5);
    });
    const destination = workerDestination({ target: { type: "http", url: origin }, concurrency: 2 });
    const { id } = destination.entry;
    outbox.put(id, 30);
    const worker = new Worker({
      outbox,
      attempt: createHttpAttempt(createSender()),
      destinations: new Map([[id, destination]]),
    });
    await worker.start();
    await until(() => expect(outbox.settled.length).toBe(30));
    await worker.stop();
    expect([most, ports.size]).toEqual([2, 2]);
  });
});
