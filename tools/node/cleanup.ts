import { createHmac } from "node:crypto";
import { createServer, connect, type Server } from "node:net";
import { request } from "undici";
import { type CephGateway, startCephGateway } from "../../test/support/object-store/ceph.ts";
import { makeBucket } from "../../test/support/object-store/bucket.ts";
import { eventually } from "./checks.ts";
import type { ClusterCommands } from "./cluster.ts";
import { HOST, secret, TENANT } from "./manifests.ts";

/** This end of the wire into the node, see lib.sh: what Pods reach of this machine. */
const HOST_ADDRESS = "172.29.255.1";
const PUSH_KEY = "the key of the queue that pushes";
const KEYS = ["labels/wh-17/1", "labels/wh-17/2", "labels/wh-18/1"];

/** What the check needs of the run. */
export interface CleanupPlace {
  readonly cluster: ClusterCommands;
  /** Address of the gateways' Service. */
  readonly gateway: string;
}

/**
 * A signed push has a cleaner Pod delete what has expired, in a bucket of Ceph's gateway on this machine.
 * @returns how many versions went
 */
export async function cleanUp({ cluster, gateway }: CleanupPlace): Promise<string> {
  const ceph = await startCephGateway();
  const wire = await forward(HOST_ADDRESS, Number(new URL(ceph.endpoint).port));
  try {
    const bucket = await makeBucket(ceph);
    for (const key of KEYS) await bucket.put(key);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const cutoff = new Date().toISOString();
    await cluster.apply(...objects(ceph, `http://${HOST_ADDRESS}:${portOf(wire)}`, bucket.name));
    await cluster.kubectl(["-n", TENANT, "wait", "--for=condition=Ready", "webhookroute/expired", "--timeout=60s"]);
    await push(gateway, { run_id: "first", scope: "wh-17", expired_before: cutoff });
    const deleted = await untilSucceeded(cluster);
    const left = (await bucket.all()).map(({ key }) => key);
    if (left.join() !== "labels/wh-18/1") throw new Error(`left in the bucket: ${left.join(", ")}`);
    await untilNoCleaner(cluster);
    return `${deleted} versions deleted`;
  } finally {
    wire.close();
    await ceph.stop();
  }
}

const davit = (kind: string, name: string, spec: object) => ({
  apiVersion: "davit.dev/v1alpha1",
  kind,
  metadata: { name, namespace: TENANT },
  spec,
});

/** A policy that deletes at once, its credentials, and a route whose pushes start its runs. */
function objects({ accessKeyId, secretAccessKey }: CephGateway, endpoint: string, bucket: string): readonly object[] {
  return [
    secret("queue", PUSH_KEY),
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s3", namespace: TENANT, labels: { "davit.dev/use": "true" } },
      stringData: { accessKeyId, secretAccessKey },
    },
    davit("CleanupPolicy", "labels", {
      s3: { endpoint, bucket, credentialsSecretRef: { name: "s3" } },
      prefixTemplate: "labels/{scope}/",
      defaultMode: "Enforce",
      safety: { minAge: "0s", maxDeletePercent: 100, requireDryRun: false },
    }),
    davit("WebhookRoute", "expired", {
      exposure: { host: HOST, path: "/expired" },
      verification: { provider: "queue-push" },
      secretRefs: [{ name: "queue", key: "value" }],
      destinations: [{ name: "cleanup", cleanup: { policyRef: { name: "labels" } } }],
    }),
  ];
}

async function push(gateway: string, run: object): Promise<void> {
  const body = JSON.stringify(run);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", PUSH_KEY).update(`${timestamp}.${body}`).digest("hex");
  const answer = await request(`http://${gateway}/expired`, {
    method: "POST",
    headers: {
      host: HOST,
      "content-type": "application/json",
      "x-delivery-id": "push-1",
      "x-delivery-timestamp": timestamp,
      "x-delivery-signature": `sha256=${signature}`,
    },
    body,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 204) throw new Error(`the push is answered ${answer.statusCode} ${text}`);
}

async function untilSucceeded(cluster: ClusterCommands): Promise<string> {
  const fields = ["phase", "reason", "counters.deleted"].map((field) => `{.items[0].status.${field}}`).join(" ");
  let status = "";
  await eventually(90, async () => {
    status = await cluster.kubectl(["-n", TENANT, "get", "cleanupruns", "-o", `jsonpath=${fields}`]);
    return status.startsWith("Succeeded ") ? undefined : `the run is: ${status}`;
  });
  return status.split(" ").at(-1) ?? "";
}

/** A policy whose runs are done has no Pod. */
async function untilNoCleaner(cluster: ClusterCommands): Promise<void> {
  await eventually(120, async () => {
    const pods = await cluster.kubectl([
      "-n",
      TENANT,
      "get",
      "pods",
      "-l",
      "davit.dev/component=cleaner",
      "-o",
      "name",
    ]);
    return pods.trim() === "" ? undefined : `there still is ${pods.trim()}`;
  });
}

/** Lets Pods reach a port that listens on 127.0.0.1 only. */
async function forward(address: string, port: number): Promise<Server> {
  const server = createServer((inward) => {
    const outward = connect(port, "127.0.0.1");
    inward.pipe(outward).pipe(inward);
    inward.on("error", () => outward.destroy());
    outward.on("error", () => inward.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, address, resolve);
  });
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the forwarder does not listen on a port");
  return address.port;
}
