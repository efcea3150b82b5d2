import { createServer } from "node:https";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { EgressGuard } from "../../src/egress/guard.ts";
import type { HttpSender } from "../../src/egress/http-sender.ts";
import { wayOf } from "../../src/egress/pools.ts";
import { certificateAuthority } from "../support/certificates.ts";
import { ConnectProxy } from "../support/connect-proxy.ts";
import { codeOf, destinations, post, statusOf, until } from "../support/http-destinations.ts";
import { takenCopy } from "../support/taken-copy.ts";
import { workerDestination } from "../support/worker-destination.ts";

const { serve, listen, createSender } = destinations();
const authority = certificateAuthority("Test authority");

let proxy: ConnectProxy;
beforeEach(async () => {
  proxy = await new ConnectProxy().start();
});
afterEach(() => proxy.stop());

const through = (tls?: Parameters<typeof wayOf>[0]["tls"]) => wayOf({ network: "Public", proxy: proxy.url, tls });
const portOf = (origin: string): number => Number(new URL(origin).port);
/** Sends every tunnel to this port of loopback. */
const leadTo = (port: number) => {
  proxy.route = () => ({ host: "127.0.0.1", port });
};
const attempt = (sender: HttpSender, destination: ReturnType<typeof workerDestination>) =>
  createHttpAttempt(sender)(takenCopy(), destination, {
    signal: new AbortController().signal,
    beforeWrite: () => true,
  });

describe("a delivery through an egress proxy", () => {
  it("asks it for a tunnel by the name of the target, which is not resolved here, and sends through it what it sends anyway", async () => {
    const paths: unknown[] = [];
    leadTo(
      portOf(
        await serve((request, response) => {
          paths.push(request.url, request.headers.host);
          response.end();
        }),
      ),
    );
    const sender = createSender();
    const results = [1, 2].map(() => sender.send(post("http://no-such-host.example", { way: through() })));
    expect((await Promise.all(results)).map(statusOf)).toEqual([200, 200]);
    expect(proxy.asked).toEqual(["no-such-host.example:80", "no-such-host.example:80"]);
    expect(proxy.headers).toMatchObject({ host: "no-such-host.example:80" });
    expect(paths).toEqual(["/hook?x=1", "no-such-host.example", "/hook?x=1", "no-such-host.example"]);
    expect(Object.keys(proxy.headers).toSorted()).toEqual(["connection", "host"]);
  });

  it("speaks TLS with the target, not with the proxy, and holds the target to its name", async () => {
    const names: unknown[] = [];
    const own = authority.issue("hooks.example.com", ["hooks.example.com"]);
    const server = createServer({ key: own.key, cert: own.certificate }, (request, response) => {
      names.push((request.socket as { servername?: unknown }).servername);
      response.end();
    });
    leadTo(await listen(server));
    const sender = createSender();
    const way = through({ ca: authority.certificate });
    expect(statusOf(await sender.send(post("https://hooks.example.com", { way })))).toBe(200);
    expect(codeOf(await sender.send(post("https://other.example.com", { way })))).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    expect(names).toEqual(["hooks.example.com"]);
    expect(proxy.asked).toEqual(["hooks.example.com:443", "other.example.com:443"]);
  });

  it("is how a worker reaches a URL that has one, and not a Service", async () => {
    const origin = await serve((_request, response) => response.end());
    leadTo(portOf(origin));
    const sender = createSender();
    const url = "http://partner.example.com:8080/hook";
    const outside = workerDestination({ target: { type: "http", url }, proxy: proxy.url });
    expect(await attempt(sender, outside)).toMatchObject({ type: "response", status: 200 });
    expect(proxy.asked).toEqual(["partner.example.com:8080"]);
    const inside = workerDestination({ target: { type: "http", url: origin, viaService: true }, proxy: proxy.url });
    expect(await attempt(sender, inside)).toMatchObject({ type: "response", status: 200 });
    expect(proxy.asked.length).toBe(1);
  });

  it.each([
    "http://127.0.0.2:9",
    "http://10.0.0.1",
    "http://169.254.169.254",
    "http://2852039166",
    "http://[::1]",
    "http://[::ffff:169.254.169.254]",
    "http://[fd00::1]",
    "http://localhost",
    "http://redis",
    "http://kubernetes.default.svc",
    "http://kubernetes.default.svc.cluster.local",
    "http://metadata.google.internal",
    "http://metadata.google.internal.",
  ])("does not ask it for %s", async (target) => {
    const guard = new EgressGuard({ allow: ["127.0.0.1"] });
    expect(codeOf(await createSender({ guard }).send(post(target, { way: through() })))).toBe("AddressNotAllowed");
    expect(proxy.asked).toEqual([]);
  });

  it("does not use a proxy that the release does not allow, by address or by name", async () => {
    const guard = new EgressGuard();
    const sender = createSender({ guard });
    expect(codeOf(await sender.send(post("http://partner.example.com", { way: through() })))).toBe("AddressNotAllowed");
    const named = proxy.url.replace("127.0.0.1", "localhost");
    const way = wayOf({ network: "Public", proxy: named });
    expect(codeOf(await sender.send(post("http://partner.example.com", { way })))).toBe("AddressNotAllowed");
    expect(proxy.asked).toEqual([]);
  });

  it("may go to names that the release allows, although they lead inside", async () => {
    leadTo(portOf(await serve((_request, response) => response.end())));
    const guard = new EgressGuard({ allow: ["127.0.0.1", "hooks.corp.internal"] });
    const sender = createSender({ guard });
    expect(statusOf(await sender.send(post("http://hooks.corp.internal", { way: through() })))).toBe(200);
  });

  it.each([
    ["403", "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "proxy_refused"],
    ["407", "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "proxy_refused"],
    ["502 with words", "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\n\r\nwords", "proxy_refused"],
    ["bytes before the target could speak", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "proxy_refused"],
    ["nothing", "", "proxy_timeout"],
  ])("is an error of its own when the proxy answers %s", async (_, answer, code) => {
    proxy.answer = answer;
    const sender = createSender({ connectTimeoutMs: 200 });
    expect(codeOf(await sender.send(post("https://partner.example.com", { way: through() })))).toBe(code);
  });

  it("is an error when the proxy is no HTTP, resets, or is not there", async () => {
    proxy.answer = "SSH-2.0-OpenSSH_9.2\r\n";
    const sender = createSender();
    expect((await sender.send(post("http://partner.example.com", { way: through() }))).type).toBe("error");
    const way = through();
    proxy.stop();
    await until(async () =>
      expect(codeOf(await createSender().send(post("http://partner.example.com", { way })))).toBe("ECONNREFUSED"),
    );
  });

  it("hands nothing to the target before the worker says so", async () => {
    let requests = 0;
    leadTo(
      portOf(
        await serve((_request, response) => {
          requests += 1;
          response.end();
        }),
      ),
    );
    const request = post("http://partner.example.com", { way: through(), beforeWrite: () => false });
    expect(await createSender().send(request)).toEqual({ type: "notSent" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([proxy.asked.length, requests]).toEqual([1, 0]);
  });
});
