import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import type { SendResult } from "../../src/egress/exchange.ts";
import type { HttpSender, HttpSenderOptions, OutgoingRequest } from "../../src/egress/http-sender.ts";
import { FaultOutbox } from "../support/fault-outbox.ts";
import { loopbackSender } from "../support/loopback-sender.ts";
import { workerDestination } from "../support/worker-destination.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function listen(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer((request, response) => void handler(request, response)))}`;
}

/** A server on which every byte that arrives is seen. */
async function serveRaw(
  onSocket: (socket: Socket) => void,
): Promise<{ origin: string; bytes: () => number; sockets: Socket[] }> {
  let bytes = 0;
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    cleanups.push(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => (bytes += chunk.length));
    onSocket(socket);
  });
  return { origin: `http://127.0.0.1:${await listen(server)}`, bytes: () => bytes, sockets };
}

function createSender(options: HttpSenderOptions = {}): HttpSender {
  const sender = loopbackSender(options);
  cleanups.push(() => sender.close());
  return sender;
}

const post = (origin: string, overrides: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  origin,
  path: "/hook?x=1",
  method: "POST",
  headers: ["content-type", "application/json"],
  body: Buffer.from('{"a":1}'),
  timeoutMs: 5_000,
  ...overrides,
});
const statusOf = (result: SendResult): number | undefined => (result.type === "response" ? result.status : undefined);
const codeOf = (result: SendResult): string | undefined => (result.type === "error" ? result.code : undefined);
/** Waits for what must come about, with patience for a busy machine. */
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 5 });
/** undici uses a connection again one turn of the event loop after its response. */
const freed = () => new Promise((resolve) => setTimeout(resolve, 5));
const readBody = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
};

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

describe("an error has a stable code", () => {
  it("ECONNREFUSED where nobody listens", async () => {
    const server = createTcpServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    expect(codeOf(await createSender().send(post(`http://127.0.0.1:${port}`)))).toBe("ECONNREFUSED");
  });

  it("ENOTFOUND or EAI_AGAIN for a name that does not exist", async () => {
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(
      codeOf(await createSender().send(post("http://no-such-host.invalid"))),
    );
  });

  it("ECONNRESET when the connection ends before the response", async () => {
    const { origin } = await serveRaw((socket) => socket.once("data", () => socket.resetAndDestroy()));
    expect(codeOf(await createSender().send(post(origin)))).toBe("ECONNRESET");
  });

  it("an error, not a success, when it ends in the middle of a 200's body", async () => {
    const { origin } = await serveRaw((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", () => socket.resetAndDestroy());
      }),
    );
    expect((await createSender().send(post(origin))).type).toBe("error");
  });

  it("bad_response for what is no HTTP", async () => {
    const { origin } = await serveRaw((socket) => socket.once("data", () => socket.end("SSH-2.0-OpenSSH_9.2\r\n")));
    expect(codeOf(await createSender().send(post(origin)))).toBe("bad_response");
  });

  it("connect_timeout when a connection does not come about", async () => {
    const sender = createSender({
      connectTimeoutMs: 50,
      connector: (_options, callback) =>
        void setTimeout(
          () => callback(Object.assign(new Error("late"), { code: "UND_ERR_CONNECT_TIMEOUT" }), null),
          20,
        ),
    });
    expect(codeOf(await sender.send(post("http://127.0.0.1:9")))).toBe("connect_timeout");
  });

  it("invalid_request for a scheme it does not speak", async () => {
    expect(codeOf(await createSender().send(post("ftp://127.0.0.1")))).toBe("invalid_request");
  });

  it("invalid_request for a header that cannot be sent", async () => {
    const origin = await serve((_request, response) => response.end());
    expect(codeOf(await createSender().send(post(origin, { headers: ["x-bad", "a\r\nb: c"] })))).toBe(
      "invalid_request",
    );
  });

  it("the TLS library's own code for a certificate nobody vouches for, and for a peer that speaks no TLS", async () => {
    const directory = mkdtempSync(join(tmpdir(), "davit-tls-"));
    cleanups.push(() => rmSync(directory, { recursive: true }));
    const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
    const args = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "1",
      "-subj",
      "/CN=localhost",
    ];
    execFileSync("openssl", [...args, "-keyout", key, "-out", cert], { stdio: "ignore" });
    let requests = 0;
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) => {
      requests += 1;
      response.end();
    });
    const port = await listen(server);
    expect(codeOf(await createSender().send(post(`https://127.0.0.1:${port}`)))).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
    expect(requests).toBe(0);
    const plain = await serve((_request, response) => response.end());
    expect(codeOf(await createSender().send(post(plain.replace("http:", "https:"))))).toMatch(
      /^(ERR_SSL_|EPROTO|ECONNRESET)/,
    );
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
});
