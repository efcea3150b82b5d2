import { createServer, type IncomingMessage, type Server } from "node:http";
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listen, portOf } from "../../src/lib/listen.ts";
import { endDev, waitFor, Workspace } from "../support/dev-process.ts";
import { publish } from "../support/publishing.ts";

let workspace: Workspace;
let target: Server;
let received: { readonly headers: IncomingMessage["headers"]; readonly body: string }[];

beforeEach(async () => {
  workspace = new Workspace();
  received = [];
  target = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      response.writeHead(200).end();
    });
  });
  await listen(target, { port: 0, address: "127.0.0.1", remedy: "" });
});
afterEach(async () => {
  await workspace.remove();
  target.close();
  target.closeAllConnections();
});

const manifests = () => `
apiVersion: v1
kind: Secret
metadata: { name: github }
stringData: { secret: a-secret-of-the-tests }
---
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: github }
spec:
  exposure: { host: hooks.example.com, path: /github }
  verification: { provider: github }
  secretRefs: [{ name: github, key: secret }]
  destinations: [{ name: target, serviceRef: { name: target, port: ${portOf(target)}, path: /in } }]
`;

const path = "/v1/namespaces/default/routes/github/events";

describe("publishing with davit dev", () => {
  it("takes events with the token of dev.json, also into a provider's route, and delivers each byte for byte", async () => {
    workspace.write(manifests());
    const dev = await workspace.dev();
    const { api = { url: "", token: "" } } = workspace.state();
    expect(new URL(api.url).hostname).toBe("127.0.0.1");
    expect(statSync(join(workspace.data, "dev.json")).mode & 0o777).toBe(0o600);
    const text = '{ "type":"digest", "data": {"big":12345678901234567890}, "id":"d-1" }';
    const { status, body } = await publish(api, `[${text}]`, { path, token: api.token });
    expect([status, body.accepted]).toEqual([200, 1]);
    await waitFor("the delivery", () => received.length > 0);
    expect(received).toMatchObject([{ body: text, headers: { "content-type": "application/json" } }]);
    expect(await publish(api, `[${text}]`, { path, token: "another" })).toMatchObject({ status: 401 });
    // What is signed by nobody is taken at this listener only.
    expect((await fetch(`${dev.gateway}/github`, { method: "POST", body: text })).status).toBe(400);
    expect(
      (
        await fetch(`${dev.gateway}${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${api.token}` },
          body: `[${text}]`,
        })
      ).status,
    ).toBe(404);
    await endDev(dev);
    const again = await workspace.dev();
    expect(workspace.state().api?.token).not.toBe(api.token);
    await endDev(again);
  });
});
