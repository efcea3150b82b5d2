import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listen, portOf } from "../../src/lib/listen.ts";
import { davit, endDev, waitFor, Workspace } from "../support/dev-process.ts";

const TOKEN = "a-token-for-the-holder-of-acme-1";

let workspace: Workspace;
let target: Server;
let status = 200;
let received: string[];

beforeEach(async () => {
  workspace = new Workspace();
  received = [];
  status = 200;
  target = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      received.push(body);
      response.writeHead(status).end();
    });
  });
  await listen(target, { port: 0, address: "127.0.0.1", remedy: "" });
});
afterEach(async () => {
  await workspace.remove();
  target.close();
  target.closeAllConnections();
});

const manifests = (token: string) => `
apiVersion: v1
kind: Secret
metadata: { name: keys, labels: { davit.dev/use: "true" } }
stringData: { closed: nobody-has-it, signing: whsec_${btoa("a-key-of-the-tests-24-by")}, token: ${token} }
---
apiVersion: davit.dev/v1alpha1
kind: WebhookDestination
metadata: { name: acme }
spec:
  id: Acme GmbH
  url: http://127.0.0.1:${portOf(target)}/hooks
  allowInsecureHTTP: true
  signing: { scheme: StandardWebhooks, secretRef: { name: keys, key: signing } }
  access: { tokenSecretRef: { name: keys, key: token } }
---
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: named }
spec:
  exposure: { host: hooks.example.com, path: /named }
  verification: { provider: github }
  secretRefs: [{ name: keys, key: closed }]
  destinations: [{ name: to, destinationRef: { name: acme }, eventTypes: ["order.*"] }]
`;

/** A call with a holder's token. */
async function call(path: string, token = TOKEN): Promise<{ readonly status: number; readonly body: unknown }> {
  const { url = "" } = workspace.state().destinationApi ?? {};
  const response = await fetch(`${url}/v1/${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: await response.json() };
}

describe("davit dev for holders of a destination's token", () => {
  it("sends test events, tells their outcome to holders, and takes another token when it is saved", async () => {
    workspace.write(manifests(TOKEN));
    const dev = await workspace.dev({ args: ["--destination-port", "0"] });
    const data = ["--data-dir", workspace.data];
    const sent = await davit("destinations", "test", "Acme GmbH", "--data", '{"n":1}', ...data);
    expect([sent.code, sent.stderr]).toEqual([0, ""]);
    expect(sent.stdout).toContain("accepted (davit.test)");
    expect(sent.stdout).toContain("destination ~Acme GmbH (acme): delivered");
    expect(JSON.parse(received[0] ?? "")).toMatchObject({ type: "davit.test", data: { n: 1 } });
    const [, id] = /^event (\w+)/.exec(sent.stdout) ?? [];
    expect(await call(`deliveries/${id}`)).toMatchObject({ status: 200, body: { route: "named", state: "delivered" } });
    expect(await call("destination")).toMatchObject({ body: { id: "Acme GmbH", delivered: 1, routes: ["named"] } });
    status = 410;
    const gone = await davit("destinations", "test", "Acme GmbH", ...data);
    expect([gone.code, gone.stdout]).toEqual([1, expect.stringContaining("answered 410")]);
    const listed = await davit("destinations", "--state", "Disabled", "-o", "json", ...data);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ destination: "~Acme GmbH (acme)", gate: "Disabled", dead: 1 }]);
    const enabled = await davit("destinations", "enable", "--all-disabled", ...data);
    expect(enabled.stdout).toBe("Acme GmbH is enabled: it was Disabled\n");
    expect(await call("dead-letters/count")).toMatchObject({ body: { count: 1 } });
    workspace.write(manifests("another-token-that-is-saved-now"));
    await waitFor(
      "the other token",
      async () => (await call("destination", "another-token-that-is-saved-now")).status === 200,
    );
    expect((await call("destination")).status).toBe(401);
    await endDev(dev);
  });
});
