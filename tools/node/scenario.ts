import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { type Check, eventually } from "./checks.ts";
import { cleanUp } from "./cleanup.ts";
import type { ClusterCommands } from "./cluster.ts";
import { IMAGE } from "./images.ts";
import { receiver, RELEASE, restrictedNamespace, route, secret, SYSTEM, TENANT, VALUES } from "./manifests.ts";
import { Sender } from "./sender.ts";

const CHART = join(import.meta.dirname, "../../charts/davit");
const OLD_KEY = "the first key of the route";
const NEW_KEY = "the key that comes after it";
const EVENTS = 50;

/** What the checks share. */
interface Run {
  readonly cluster: ClusterCommands;
  /** Folder for files of the run. */
  readonly folder: string;
  readonly hasHandler: boolean;
  sender: Sender;
  /** Address of the receiver's Service. */
  receiver: string;
  readonly accepted: number[];
}

/** The run from the chart's installation to its removal; each check builds on those before it. */
export function scenario(
  cluster: ClusterCommands,
  folder: string,
  { hasHandler, hasStore }: { readonly hasHandler: boolean; readonly hasStore: boolean },
): readonly Check[] {
  const run: Run = { cluster, folder, hasHandler, sender: new Sender(""), receiver: "", accepted: [] };
  const check = (name: string, limit: number, body: (run: Run) => Promise<string | void>): Check => ({
    name,
    limit,
    run: () => body(run),
  });
  return [
    check("the chart installs with Helm, every Pod restricted, and all get ready", 180, install),
    check("a receiver and a route are applied, and the route becomes Ready", 90, applyRoute),
    check(`${EVENTS} signed events from outside are accepted and delivered`, 60, deliver),
    check("a redelivery is answered as one, and delivered no second time", 30, redeliver),
    check("a wrong signature, an unknown path and an unknown host are refused", 30, refuse),
    check("the Secret changes: the new key is accepted and the old one still is", 30, rotate),
    check("the previous key is revoked: only the new one is accepted", 30, revoke),
    check("the gateways roll under load without an answer other than 2xx", 180, rollGateways),
    check("the leader is deleted, and another one takes a change over", 90, replaceLeader),
    ...(hasHandler ? [check("a handler image of one's own gets events", 90, handle)] : []),
    ...(hasStore
      ? [
          check("a signed push has a cleaner Pod delete what has expired, and the Pod goes", 300, async ({ sender }) =>
            cleanUp({ cluster, gateway: sender.address }),
          ),
        ]
      : []),
    check("the release is upgraded with Helm, and its Redis goes on with its users", 180, upgrade),
    check("the release is uninstalled; CRDs, routes and published routes stay", 120, uninstall),
  ];
}

async function install(run: Run): Promise<void> {
  await run.cluster.apply(restrictedNamespace(SYSTEM), restrictedNamespace(TENANT));
  await helm(run, "install", VALUES);
  run.sender = new Sender(await addressOf(run, SYSTEM, `${RELEASE}-gateway`));
}

/** Installs or upgrades, and waits until all is ready. */
async function helm({ cluster, folder }: Run, command: "install" | "upgrade", values: object): Promise<void> {
  const file = join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  await cluster.helm([command, RELEASE, CHART, "--namespace", SYSTEM, "--values", file, "--wait", "--timeout", "150s"]);
}

async function addressOf({ cluster }: Run, namespace: string, service: string): Promise<string> {
  return cluster.kubectl(["-n", namespace, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}"]);
}

const toReceiver = { destinations: [{ name: "receiver", serviceRef: { name: "receiver", port: 80, path: "/hooks" } }] };

async function applyRoute(run: Run): Promise<void> {
  await run.cluster.apply(...receiver(), secret("github", OLD_KEY), route("github", toReceiver));
  await run.cluster.kubectl(["-n", TENANT, "wait", "--for=condition=Ready", "pod/receiver", "--timeout=30s"]);
  await run.cluster.kubectl(["-n", TENANT, "wait", "--for=condition=Ready", "webhookroute/github", "--timeout=60s"]);
  run.receiver = await addressOf(run, TENANT, "receiver");
}

async function deliver(run: Run): Promise<void> {
  const answers = await Promise.all(Array.from({ length: EVENTS }, () => run.sender.send("/github", OLD_KEY)));
  const wrong = answers.filter(({ status }) => status !== 202);
  if (wrong.length > 0) throw new Error(`${wrong.length} were not accepted: ${wrong[0]?.status} ${wrong[0]?.body}`);
  run.accepted.push(...answers.map(({ number }) => number));
  await untilDelivered(run, 30);
}

async function received(run: Run): Promise<Record<string, number>> {
  const { body } = await request(`http://${run.receiver}/`);
  return (await body.json()) as Record<string, number>;
}

/** Waits until the receiver has every accepted event. */
async function untilDelivered(run: Run, seconds: number): Promise<void> {
  await eventually(seconds, async () => {
    const seen = await received(run);
    const missing = run.accepted.filter((number) => seen[number] === undefined);
    return missing.length === 0 ? undefined : `${missing.length} of ${run.accepted.length} events are not delivered`;
  });
}

async function expectStatus(run: Run, expected: number, path: string, key: string): Promise<void> {
  const { status, body, number } = await run.sender.send(path, key);
  if (status === 202) run.accepted.push(number);
  if (status !== expected) throw new Error(`${path}: expected ${expected}, got ${status} ${body}`);
}

async function redeliver(run: Run): Promise<void> {
  const first = await run.sender.send("/github", OLD_KEY);
  run.accepted.push(first.number);
  await untilDelivered(run, 10);
  const second = await run.sender.send("/github", OLD_KEY, first.number);
  const [one, two] = [first, second].map(({ body }) => JSON.parse(body) as { id: string; replayed: boolean });
  if (second.status !== 202 || two?.replayed !== true || two.id !== one?.id) {
    throw new Error(`the second time: ${second.status} ${second.body}, after ${first.body}`);
  }
  // Long enough for a worker that had one to deliver.
  await sleep(1_000);
  const times = (await received(run))[first.number];
  if (times !== 1) throw new Error(`it was delivered ${times} times`);
}

async function refuse(run: Run): Promise<void> {
  await expectStatus(run, 401, "/github", "another key");
  await expectStatus(run, 404, "/nowhere", OLD_KEY);
  const address = await addressOf(run, SYSTEM, `${RELEASE}-gateway`);
  const { statusCode } = await request(`http://${address}/github`, {
    method: "POST",
    headers: { host: "other.example.com" },
  });
  if (statusCode !== 404) throw new Error(`an unknown host: expected 404, got ${statusCode}`);
}

interface RouteStatus {
  readonly status?: { readonly rotation?: { readonly keys?: readonly { readonly state: string }[] } };
}

async function rotate(run: Run): Promise<string> {
  const begin = performance.now();
  await run.cluster.apply(secret("github", NEW_KEY));
  await eventually(10, async () => {
    const { status, number } = await run.sender.send("/github", NEW_KEY);
    if (status === 202) run.accepted.push(number);
    return status === 202 ? undefined : `the new key is answered ${status}`;
  });
  const took = Math.round(performance.now() - begin);
  await expectStatus(run, 202, "/github", OLD_KEY);
  await eventually(10, async () => {
    const { status } = await run.cluster.get<RouteStatus>(TENANT, "webhookroute", "github");
    const states = (status?.rotation?.keys ?? []).map(({ state }) => state).join(" ");
    return states === "Current Previous" ? undefined : `status.rotation shows the keys: ${states || "none"}`;
  });
  return `new key accepted ${took} ms after the change began`;
}

async function revoke(run: Run): Promise<string> {
  const begin = performance.now();
  const at = new Date().toISOString();
  await run.cluster.kubectl(["-n", TENANT, "annotate", "webhookroute", "github", `davit.dev/revoke-previous-at=${at}`]);
  await eventually(10, async () => {
    const { status, number } = await run.sender.send("/github", OLD_KEY);
    if (status === 202) run.accepted.push(number);
    return status === 401 ? undefined : `the old key is answered ${status}`;
  });
  const took = Math.round(performance.now() - begin);
  await expectStatus(run, 202, "/github", NEW_KEY);
  return `old key refused ${took} ms after the command`;
}

async function rollGateways(run: Run): Promise<string> {
  const ending = new AbortController();
  const load = run.sender.load("/github", NEW_KEY, ending.signal);
  const deployment = `deployment/${RELEASE}-gateway`;
  try {
    await run.cluster.kubectl(["-n", SYSTEM, "rollout", "restart", deployment]);
    await run.cluster.kubectl(["-n", SYSTEM, "rollout", "status", deployment, "--timeout=120s"]);
    // Until the last old Pod is gone, not only out of use.
    await eventually(40, async () => {
      const selector = `app.kubernetes.io/component=gateway,app.kubernetes.io/instance=${RELEASE}`;
      const pods = (await run.cluster.kubectl(["-n", SYSTEM, "get", "pods", "-l", selector, "-o", "name"]))
        .trim()
        .split("\n");
      return pods.length === 2 ? undefined : `there are ${pods.length} gateway Pods`;
    });
  } finally {
    ending.abort();
  }
  const { accepted, refused } = await load;
  run.accepted.push(...accepted);
  if (refused.length > 0)
    throw new Error(`${refused.length} of ${accepted.length + refused.length} requests: ${refused[0]}`);
  await untilDelivered(run, 30);
  return `${accepted.length} requests, ${refused.length} not 2xx, all delivered`;
}

async function replaceLeader(run: Run): Promise<void> {
  const lease = ["-n", SYSTEM, "get", "lease", "davit-controller-default", "-o", "jsonpath={.spec.holderIdentity}"];
  const [pod = ""] = (await run.cluster.kubectl(lease)).split("_");
  await run.cluster.kubectl(["-n", SYSTEM, "delete", "pod", pod, "--wait=false"]);
  await run.cluster.apply(secret("second", OLD_KEY), route("second", toReceiver));
  await run.cluster.kubectl(["-n", TENANT, "wait", "--for=condition=Ready", "webhookroute/second", "--timeout=60s"]);
  await expectStatus(run, 202, "/second", OLD_KEY);
  await untilDelivered(run, 15);
}

async function handle(run: Run): Promise<void> {
  const own = {
    destinations: [{ name: "handler", handler: {} }],
    worker: { dedicated: { image: IMAGE.handler } },
  };
  await run.cluster.apply(secret("orders", OLD_KEY), route("orders", own));
  await run.cluster.kubectl(["-n", TENANT, "wait", "--for=condition=Ready", "webhookroute/orders", "--timeout=60s"]);
  const { status, body } = await run.sender.send("/orders", OLD_KEY);
  if (status !== 202) throw new Error(`the event is answered ${status} ${body}`);
  const { id } = JSON.parse(body) as { id: string };
  await eventually(20, async () => {
    const selector = "davit.dev/component=worker";
    const logs = await run.cluster.kubectl(["-n", TENANT, "logs", "-l", selector, "--tail=-1", "--prefix=false"]);
    return logs.includes(id) ? undefined : `no handler has logged the event ${id}`;
  });
}

async function upgrade(run: Run): Promise<void> {
  const uid = async () => {
    const { metadata } = await run.cluster.get<{ metadata: { uid: string } }>(SYSTEM, "pod", `${RELEASE}-redis-0`);
    return metadata.uid;
  };
  const before = await uid();
  const hosts = [...VALUES.gateway.hosts, { host: "more.example.com", via: "None", allowHTTP: true }];
  await helm(run, "upgrade", { ...VALUES, gateway: { ...VALUES.gateway, hosts } });
  if ((await uid()) !== before) throw new Error("Redis was restarted: its users or its configuration have changed");
  await expectStatus(run, 202, "/github", NEW_KEY);
  await untilDelivered(run, 30);
}

async function uninstall(run: Run): Promise<void> {
  await run.cluster.helm(["uninstall", RELEASE, "--namespace", SYSTEM, "--wait", "--timeout", "100s"]);
  const names = await run.cluster.kubectl(["get", "webhookroutes", "-n", TENANT, "-o", "name"]);
  if (!names.includes("webhookroute.davit.dev/github")) throw new Error("the route is gone");
  const published = await run.cluster.kubectl(["get", "secrets", "-n", `${RELEASE}-routes`, "-o", "name"]);
  if (!published.includes("secret/davit-route-")) throw new Error("the published routes are gone");
  await run.sender.close();
}
