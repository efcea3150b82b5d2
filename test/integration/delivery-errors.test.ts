import { createServer as createTcpServer } from "node:net";
import { describe, expect, it } from "vitest";
import { codeOf, destinations, post, statusOf, until } from "../support/http-destinations.ts";

const { listen, serve, serveRaw, createSender } = destinations();

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
});

/** A server that answers every request with these bytes. */
const answering = (bytes: string, end = false) =>
  serveRaw((socket) => socket.on("data", () => (end ? socket.end(bytes) : socket.write(bytes))));

describe("a response that lies or never ends", () => {
  it("ends with the timeout while its head trickles in, and the connection with it", async () => {
    const { origin, sockets } = await serveRaw((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const trickle = setInterval(() => socket.write("x-a: b\r\n"), 20);
        socket.on("close", () => clearInterval(trickle));
      }),
    );
    expect(codeOf(await createSender().send(post(origin, { timeoutMs: 200 })))).toBe("timeout");
    await until(() => expect(sockets[0]?.readyState).not.toBe("open"));
  });

  it("ends with the timeout when interim responses never stop", async () => {
    const { origin } = await serveRaw((socket) =>
      socket.once("data", () => {
        const trickle = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 10);
        socket.on("close", () => clearInterval(trickle));
      }),
    );
    expect(codeOf(await createSender().send(post(origin, { timeoutMs: 200 })))).toBe("timeout");
  });

  it("ends with the timeout when fewer bytes come than its length says, and is an error when the connection then closes", async () => {
    const open = await answering("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
    expect(codeOf(await createSender().send(post(open.origin, { timeoutMs: 150 })))).toBe("timeout");
    const closing = await answering("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", true);
    expect((await createSender().send(post(closing.origin))).type).toBe("error");
  });

  it("ends where its length says; what comes beyond spoils no other request", async () => {
    const { origin, sockets } = await answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok, and a smuggled rest");
    const sender = createSender();
    const results = [await sender.send(post(origin)), await sender.send(post(origin))];
    for (const result of results) expect(result).toMatchObject({ status: 200, head: "ok" });
    expect(sockets.length).toBe(2);
  });

  it("is refused when it has two lengths, or a length and chunks", async () => {
    const twice = await answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok!");
    expect(codeOf(await createSender().send(post(twice.origin)))).toBe("bad_response");
    const both = await answering(
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    );
    expect(codeOf(await createSender().send(post(both.origin)))).toBe("bad_response");
  });

  it("is refused when its head is larger than 16 KiB", async () => {
    const { origin, sockets } = await answering(`HTTP/1.1 200 OK\r\nx-large: ${"a".repeat(70_000)}\r\n\r\n`);
    expect(codeOf(await createSender().send(post(origin)))).toBe("headers_too_large");
    await until(() => expect(sockets[0]?.readyState).not.toBe("open"));
  });

  it("is refused when it switches protocols, which nobody asked for", async () => {
    const { origin } = await answering("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
    expect((await createSender().send(post(origin))).type).toBe("error");
  });

  it("counts by its status when its body is longer than anybody reads, and leaves the next request a connection of its own", async () => {
    const { origin, sockets } = await answering(
      `HTTP/1.1 503 Busy\r\ncontent-length: 1000000\r\n\r\n${"b".repeat(100_000)}`,
    );
    const sender = createSender();
    for (const _ of [1, 2])
      expect(await sender.send(post(origin))).toMatchObject({ status: 503, head: "b".repeat(2_048) });
    expect(sockets.length).toBe(2);
  });
});

describe("an idle connection", () => {
  it("is closed although the server offers to keep it for an hour", async () => {
    const { origin, sockets } = await answering(
      "HTTP/1.1 200 OK\r\nkeep-alive: timeout=3600\r\ncontent-length: 0\r\n\r\n",
    );
    const sender = createSender({ idleMs: 200 });
    expect(statusOf(await sender.send(post(origin)))).toBe(200);
    await until(() => expect(sockets[0]?.readyState).not.toBe("open"));
  });
});
