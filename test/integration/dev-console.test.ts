import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listen, portOf } from "../../src/lib/listen.ts";
import { call } from "../support/console.ts";
import { waitFor, Workspace } from "../support/dev-process.ts";
import { publish } from "../support/publishing.ts";

let workspace: Workspace;
let target: Server;

beforeEach(async () => {
  workspace = new Workspace();
  target = createServer((_request, response) => response.writeHead(404).end());
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

const events = "/v1/namespaces/default/routes/github/events";

describe("the operations API of davit dev", () => {
  it("shows and replays what the routes of the manifests did, to whoever has its token in dev.json", async () => {
    workspace.write(manifests());
    await workspace.dev();
    const { api = { url: "", token: "" }, console = { url: "", token: "" } } = workspace.state();
    expect(new URL(console.url).hostname).toBe("127.0.0.1");
    const { token } = console;
    await publish(api, [{ type: "digest", data: 1 }], { path: events, token: api.token });
    const letters = async () => (await call(console, "/v1/namespaces/default/dead-letters", { token })).body.items;
    await waitFor("the dead letter", async () => (await letters()).length === 1);
    const [letter] = await letters();
    expect(letter).toMatchObject({ route: "github", destination: "target", reason: "Status404", eventType: "digest" });
    const replayed = await call(console, `${events}/${letter.eventId}/replay`, { method: "POST", token });
    expect(replayed.body).toEqual({ copies: 1, active: 0 });
    await waitFor("its second attempt", async () => {
      const { body } = await call(console, `${events}/${letter.eventId}`, { token });
      return body.copies[0].attempts === 2 && body.copies[0].state === "dead";
    });
  });

  it("takes no other token", async () => {
    workspace.write(manifests());
    await workspace.dev();
    const { api = { url: "", token: "" }, console = { url: "", token: "" } } = workspace.state();
    for (const token of [api.token, "wrong"])
      expect((await call(console, events, { token })).body.error).toBe("TokenRefused");
    const swapped = await publish(api, [{ type: "a", data: 1 }], { path: events, token: console.token });
    expect(swapped.status).toBe(401);
  });
});
