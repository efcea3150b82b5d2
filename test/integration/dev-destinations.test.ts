import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readRings } from "../../src/cli/dev/rings.ts";
import { listen, portOf } from "../../src/lib/listen.ts";
import { davit, endDev, waitFor, Workspace } from "../support/dev-process.ts";
import { publish } from "../support/publishing.ts";

const PATH = "/v1/namespaces/default/routes/named/events";

let workspace: Workspace;
let target: Server;
let received: { readonly url: string | undefined; readonly headers: IncomingHttpHeaders; readonly body: string }[];

beforeEach(async () => {
  workspace = new Workspace();
  received = [];
  target = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      received.push({ url: request.url, headers: request.headers, body });
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

const manifests = (spec: { readonly path: string; readonly key: string; readonly suspend?: boolean }) => `
apiVersion: v1
kind: Secret
metadata: { name: keys, labels: { davit.dev/use: "true" } }
stringData: { closed: nobody-has-it, signing: whsec_${btoa(spec.key)} }
---
apiVersion: davit.dev/v1alpha1
kind: WebhookDestination
metadata: { name: acme }
spec:
  id: Acme GmbH
  url: http://127.0.0.1:${portOf(target)}${spec.path}
  allowInsecureHTTP: true
  suspend: ${spec.suspend ?? false}
  signing: { scheme: StandardWebhooks, secretRef: { name: keys, key: signing } }
---
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: named }
spec:
  exposure: { host: hooks.example.com, path: /named }
  verification: { provider: github }
  secretRefs: [{ name: keys, key: closed }]
  destinations: [{ name: to, destinationRef: { name: acme } }]
`;

/** Publishes one event. */
async function send(n: number): Promise<void> {
  const { api = { url: "", token: "" } } = workspace.state();
  const { status } = await publish(api, `[{"id":"e-${n}","type":"t","data":{}}]`, { path: PATH, token: api.token });
  expect(status).toBe(200);
}

const stampOf = () => readRings(workspace.data).destinations.get("default/acme")?.entry.seq ?? 0;
const signatures = (n: number) => String(received[n]?.headers["webhook-signature"]).split(" ").length;

describe("WebhookDestinations with davit dev", () => {
  it("keep stamp and signing keys over a restart, take a saved change, and are called by name", async () => {
    workspace.write(manifests({ path: "/one", key: "a-key-of-the-tests-24-by" }));
    const dev = await workspace.dev();
    await send(1);
    await waitFor("the first delivery", () => received.length === 1);
    const stamp = stampOf();
    expect(workspace.state().destinations).toEqual([
      { namespace: "default", name: "acme", id: "Acme GmbH", destination: "~Acme%20GmbH" },
    ]);
    const { stdout } = await davit("events", "--data-dir", workspace.data, "-o", "json");
    const [{ id }] = JSON.parse(stdout) as [{ readonly id: string }];
    const trace = await davit("trace", id, "--data-dir", workspace.data);
    expect(trace.stdout).toContain("destination ~Acme GmbH (acme): delivered");
    await endDev(dev);

    const again = await workspace.dev();
    expect(stampOf()).toBe(stamp);
    await send(2);
    await waitFor("the second delivery", () => received.length === 2);
    // Another key: during the overlap both sign.
    workspace.write(manifests({ path: "/two", key: "another-key-of-the-tests" }));
    await waitFor("the change", () =>
      again.program.stderr().includes("default/acme: events go to this WebhookDestination as written now"),
    );
    expect(stampOf()).toBeGreaterThan(stamp);
    await send(3);
    await waitFor("the third delivery", () => received.length === 3);
    expect(received.map(({ url }) => url)).toEqual(["/one", "/one", "/two"]);
    expect([0, 1, 2].map(signatures)).toEqual([1, 1, 2]);
    await endDev(again);
  });

  it("wait while they are suspended, and are drained when that is saved", async () => {
    const spec = { path: "/one", key: "a-key-of-the-tests-24-by" };
    workspace.write(manifests({ ...spec, suspend: true }));
    const dev = await workspace.dev();
    for (let n = 0; n < 3; n += 1) await send(n);
    const { stdout } = await davit("events", "--data-dir", workspace.data, "-o", "json");
    expect(stdout.match(/"state": *"waiting"/g)).toHaveLength(3);
    workspace.write(manifests(spec));
    await waitFor("what waited", () => received.length === 3);
    await endDev(dev);
  });
});
