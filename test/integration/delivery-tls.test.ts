import { createServer, type ServerOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import type { Network } from "../../src/egress/guard.ts";
import { wayOf } from "../../src/egress/pools.ts";
import type { TlsSettings } from "../../src/egress/socket-options.ts";
import { certificateAuthority } from "../support/certificates.ts";
import { codeOf, destinations, post, statusOf } from "../support/http-destinations.ts";

const { serve, listen, createSender } = destinations();
const authority = certificateAuthority("Test authority");
const other = certificateAuthority("Another authority");
const ofServer = authority.issue("hooks.example.com", ["hooks.example.com", "IP:127.0.0.1"]);
const ofClient = authority.issue("davit at acme");

interface Peer {
  readonly client: string | undefined;
  readonly protocol: string | null;
  readonly alpn: string | false | null;
  readonly sni: string | false | null | undefined;
  readonly resumed: boolean;
}

/** A TLS server that notes whom it talked to. */
async function serveTls(options: ServerOptions = {}) {
  const peers: Peer[] = [];
  const server = createServer({ key: ofServer.key, cert: ofServer.certificate, ...options }, (request, response) => {
    const socket = request.socket as TLSSocket & { servername?: string | false };
    const { CN } = (socket.getPeerCertificate().subject as { CN?: string } | undefined) ?? {};
    peers.push({
      client: CN,
      protocol: socket.getProtocol(),
      alpn: socket.alpnProtocol,
      sni: socket.servername,
      resumed: socket.isSessionReused(),
    });
    response.end();
  });
  const port = await listen(server);
  return { origin: `https://127.0.0.1:${port}`, peers };
}

const way = (tls: TlsSettings, network: Network = "Public") => wayOf({ network, tls });

describe("a delivery over TLS", () => {
  it("trusts the authority of its destination, which nobody else does, and speaks HTTP/1.1", async () => {
    const { origin, peers } = await serveTls();
    const sender = createSender();
    expect(codeOf(await sender.send(post(origin)))).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    expect(codeOf(await sender.send(post(origin, { way: way({ ca: other.certificate }) })))).toBe(
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    );
    expect(peers).toEqual([]);
    expect(statusOf(await sender.send(post(origin, { way: way({ ca: authority.certificate }) })))).toBe(200);
    expect(peers).toEqual([{ client: undefined, protocol: "TLSv1.3", alpn: "http/1.1", sni: false, resumed: false }]);
  });

  it("shows its client certificate, and is turned away without", async () => {
    const { origin, peers } = await serveTls({
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const sender = createSender();
    const ca = authority.certificate;
    const certified = way({ ca, certificate: ofClient.certificate, key: ofClient.key });
    expect(statusOf(await sender.send(post(origin, { way: certified })))).toBe(200);
    expect(peers.map(({ client }) => client)).toEqual(["davit at acme"]);
    // Also after a connection with the certificate: neither that nor its session is used by another destination.
    const result = await sender.send(post(origin, { way: way({ ca }) }));
    expect(result.type).toBe("error");
    expect(peers.length).toBe(1);
  });

  it("asks for the server by the name it is given, and holds it to it", async () => {
    const { origin, peers } = await serveTls();
    const sender = createSender();
    const ca = authority.certificate;
    const named = way({ ca, serverName: "hooks.example.com" });
    expect(statusOf(await sender.send(post(origin, { way: named })))).toBe(200);
    expect(peers.map(({ sni }) => sni)).toEqual(["hooks.example.com"]);
    const misnamed = way({ ca, serverName: "other.example.com" });
    expect(codeOf(await sender.send(post(origin, { way: misnamed })))).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    expect(peers.length).toBe(1);
  });

  it("is not made with less than TLS 1.2", async () => {
    const { origin, peers } = await serveTls({
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT:@SECLEVEL=0",
    });
    const result = await createSender().send(post(origin, { way: way({ ca: authority.certificate }) }));
    expect(codeOf(result)).toMatch(/^(ERR_SSL_|EPROTO|ECONNRESET)/);
    expect(peers).toEqual([]);
    const twelve = await serveTls({ minVersion: "TLSv1.2", maxVersion: "TLSv1.2" });
    const sent = await createSender().send(post(twelve.origin, { way: way({ ca: authority.certificate }) }));
    expect([statusOf(sent), twelve.peers[0]?.protocol]).toEqual([200, "TLSv1.2"]);
  });

  it("fails with a stable code where the peer speaks no TLS, or holds a certificate of its own making", async () => {
    const plain = await serve((_request, response) => response.end());
    const result = await createSender().send(post(plain.replace("http:", "https:")));
    expect(codeOf(result)).toMatch(/^(ERR_SSL_|EPROTO|ECONNRESET)/);
    const { origin } = await serveTls({ key: other.key, cert: other.certificate });
    expect(codeOf(await createSender().send(post(origin)))).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  it("is an error, not a crash, when the PEM is none", async () => {
    const { origin } = await serveTls();
    const result = await createSender().send(post(origin, { way: way({ ca: "no PEM", certificate: "x", key: "y" }) }));
    expect(result.type).toBe("error");
  });
});
