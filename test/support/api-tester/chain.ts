import { createServer, type Server } from "node:http";
import { connect, createServer as createProxy, type Server as Proxy } from "node:net";
import { cleanupRunPath } from "../../../src/api/cleanup-run.ts";
import { listen, portOf } from "../../../src/lib/listen.ts";
import { call } from "../console.ts";
import { type Dev, waitFor, Workspace } from "../dev-process.ts";
import { publish } from "../publishing.ts";
import type { Listener } from "./documents.ts";

/** So many destinations that the bound of calls of each, 10 a second, bounds nothing here. */
const DESTINATIONS = Array.from({ length: 16 }, (_, index) => (index === 0 ? "Acme GmbH / Süd" : `acme-${index}`));
const FAILING = 3;
const HELD = 4;
const eventsOf = (route: string) => `/v1/namespaces/default/routes/${route}/events`;
/** Events that ask for cleanup runs: one ends without the store, one never is begun, and one waits, as the store is always busy. */
const RUNS = [
  { run_id: "recorded", scope: "noted", expired_before: "2026-01-31T00:00:00Z" },
  { run_id: "2026-W05/a?b%", scope: "noted", expired_before: "9999-01-01T00:00:00Z" },
  { run_id: "waiting", scope: "planned", expired_before: "2026-01-31T00:00:00Z" },
];

/** A running `davit dev` with the three APIs, in custody events of every state, and cleanup runs. */
export interface Chain {
  readonly dev: Dev;
  readonly listeners: Readonly<Record<Listener, ChainListener>>;
  close(): Promise<void>;
}

/** One of its listeners. */
export interface ChainListener {
  readonly url: string;
  /** Each of them opens it. */
  readonly tokens: readonly [string, ...string[]];
  /** Names of what is there. */
  readonly known: Known;
}

/** What a caller of an API knows, as the hooks of tools/schemathesis take it. */
export interface Known {
  readonly namespace: string;
  readonly routes: readonly string[];
  /** The route that reaches every destination. */
  readonly reaching: string;
  readonly destinations: readonly string[];
  readonly events: readonly string[];
  /** CleanupPolicies. */
  readonly policies: readonly string[];
  /** Ids of cleanup runs. */
  readonly runs: readonly string[];
}

const tokenOf = (index: number) => `a-token-of-the-holder-of-destination-${index}`;
const nameOf = (index: number) => `acme-${index}`;

const destination = (id: string, index: number, port: number) => `
---
apiVersion: davit.dev/v1alpha1
kind: WebhookDestination
metadata: { name: ${nameOf(index)} }
spec:
  id: "${id}"
  url: http://127.0.0.1:${port}/${index}
  allowInsecureHTTP: true
  signing: { scheme: StandardWebhooks, secretRef: { name: keys, key: signing } }
  access: { tokenSecretRef: { name: keys, key: token-${index} } }`;

const manifests = (port: number) => `
apiVersion: v1
kind: Secret
metadata: { name: keys, labels: { davit.dev/use: "true" } }
stringData:
  closed: nobody-has-it
  signing: whsec_${btoa("a-key-of-the-tests-24-by")}
${DESTINATIONS.map((_, index) => `  token-${index}: ${tokenOf(index)}`).join("\n")}
---
apiVersion: v1
kind: Secret
metadata: { name: s3, labels: { davit.dev/use: "true" } }
stringData: { accessKeyId: test, secretAccessKey: testtesttest }
${DESTINATIONS.map((id, index) => destination(id, index, port)).join("")}
---
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: orders }
spec:
  exposure: { host: hooks.example.com, path: /orders }
  verification: { provider: github }
  secretRefs: [{ name: keys, key: closed }]
  delivery: { retry: { schedule: [1s, 1h] } }
  destinations:
${DESTINATIONS.map((_, index) => `    - { name: to-${index}, destinationRef: { name: ${nameOf(index)} }, eventTypes: ["order.*"] }`).join("\n")}
---
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: audit }
spec:
  exposure: { host: hooks.example.com, path: /audit }
  verification: { provider: github }
  secretRefs: [{ name: keys, key: closed }]
  destinations:
    - { name: own, serviceRef: { name: receiver, port: ${port} } }
---
apiVersion: davit.dev/v1alpha1
kind: CleanupPolicy
metadata: { name: expired }
spec:
  s3: { endpoint: "http://127.0.0.1:${port}", bucket: warehouse, credentialsSecretRef: { name: s3 } }
  prefixTemplate: warehouses/{scope}/
  defaultMode: RecordOnly
  scopes: [{ name: planned, mode: DryRun }]
---
apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: cleanups }
spec:
  exposure: { host: hooks.example.com, path: /cleanups }
  verification: { provider: queue-push }
  secretRefs: [{ name: keys, key: closed }]
  destinations:
    - { name: cleanup, cleanup: { policyRef: { name: expired } } }
`;

/** One that takes, refuses for good or asks to wait, by the event's type; and an object store that is always busy. */
function receiver(): Server {
  return createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const isBusy = request.method === "GET" || body.includes('"order.later"');
      const status = body.includes('"order.dead"') ? 404 : isBusy ? 503 : 200;
      response.writeHead(status).end("seen");
    });
  });
}

/**
 * A listener as if each connection were another client's: whoever has no token that is known is bounded to one call a second, and callers here are all of one
 * address. Linux takes all of 127.0.0.0/8 for loopback.
 */
async function asManyClients(url: string): Promise<{ readonly url: string; readonly proxy: Proxy }> {
  let clients = 0;
  const proxy = createProxy((client) => {
    const at = clients++;
    const localAddress = `127.${1 + (at >> 16)}.${(at >> 8) & 255}.${1 + ((at & 255) % 254)}`;
    const server = connect({ host: "127.0.0.1", port: Number(new URL(url).port), localAddress });
    server.on("error", () => client.destroy());
    client.on("error", () => server.destroy());
    client.pipe(server).pipe(client);
  });
  await listen(proxy as unknown as Server, { port: 0, address: "127.0.0.1", remedy: "" });
  return { url: `http://127.0.0.1:${portOf(proxy as unknown as Server)}`, proxy };
}

/** Starts everything, and waits until events are delivered, dead, delayed and held. */
export async function startChain(): Promise<Chain> {
  const workspace = new Workspace();
  const target = receiver();
  await listen(target, { port: 0, address: "127.0.0.1", remedy: "" });
  workspace.write(manifests(portOf(target)));
  const dev = await workspace.dev({ args: ["--destination-port", "0"] });
  const { api = NONE, console = NONE, destinationApi = NONE } = workspace.state();
  const { url, proxy } = await asManyClients(destinationApi.url);
  const events = await fill({ api, console });
  await makeRuns(api);
  const known = {
    namespace: "default",
    // Events of the third must have what a run needs, which no schema of the API says.
    routes: ["orders", "audit"],
    reaching: "orders",
    destinations: DESTINATIONS,
    events,
    policies: ["expired"],
    runs: RUNS.map(({ run_id }) => run_id),
  };
  const [first = "", ...others] = DESTINATIONS.map((_, index) => tokenOf(index));
  return {
    dev,
    listeners: {
      api: { url: api.url, tokens: [api.token], known },
      console: { url: console.url, tokens: [console.token], known },
      holder: { url, tokens: [first, ...others], known: { ...known, routes: ["orders"] } },
    },
    close: async () => {
      proxy.close();
      await workspace.remove();
      target.close();
      target.closeAllConnections();
    },
  };
}

interface Place {
  readonly url: string;
  readonly token: string;
}
const NONE: Place = { url: "", token: "" };

/** @returns ids of the events */
async function fill({ api, console }: Readonly<Record<"api" | "console", Place>>): Promise<readonly string[]> {
  const { token } = console;
  await call(console, `/v1/namespaces/default/destinations/${nameOf(HELD)}/hold`, {
    method: "POST",
    body: { forSeconds: 86_400 },
    token,
  });
  const types = ["order.paid", "order.later", ...Array.from({ length: FAILING }, () => "order.dead")];
  const { body } = await publish(
    api,
    types.map((type, index) => ({ id: `first-${index}`, type, data: { index } })),
    { path: eventsOf("orders"), token: api.token },
  );
  const ids = body.results.map((result) => ("id" in result ? result.id : ""));
  const letters = async () => (await call(console, "/v1/namespaces/default/dead-letters/count", { token })).body.count;
  await waitFor("the dead letters", async () => (await letters()) >= FAILING);
  return ids;
}

/** Publishes what asks for runs, and waits until each is as it stays. */
async function makeRuns(api: Place): Promise<void> {
  const events = RUNS.map((run) => ({ type: "cleanup", data: {}, ...run }));
  await publish(api, events, { path: eventsOf("cleanups"), token: api.token });
  const phases = () => Promise.all(RUNS.map(({ run_id }) => phaseOf(api, run_id)));
  const expected = "Succeeded,Rejected,Pending";
  await waitFor(`the runs to be ${expected}`, async () => String(await phases()) === expected);
}

async function phaseOf({ url, token }: Place, runId: string): Promise<string | undefined> {
  const answer = await fetch(url + cleanupRunPath({ namespace: "default", policy: "expired", runId }), {
    headers: { authorization: `Bearer ${token}` },
  });
  const { name, phase } = (await answer.json()) as { readonly name?: string; readonly phase?: string };
  return name === undefined ? undefined : phase;
}
