// npm run e2e:node: the whole of Davit on a real single node that this machine runs for the time being: real kubelet, real Pods, the
// image built from the Dockerfile, the chart installed with Helm. As root on Linux with cgroup v1 or hybrid.
//   --keep       leave the node running, and say how to use and end it
import { parseArgs } from "node:util";
import { buildControlPlane } from "../control-plane/build.mjs";
import { findHelm, missingForHelm } from "../helm/helm.ts";
import { missingForCeph } from "../setup/ceph.mjs";
import { thisMachine } from "../setup/machine.mjs";
import { findServer } from "../setup/redis.mjs";
import { type Check, runChecks } from "./checks.ts";
import { ClusterCommands } from "./cluster.ts";
import { baseImages, buildImages, type Images } from "./images.ts";
import { kubeconfigOf, nodeDown, type NodePlace, nodePlace, nodeUp } from "./node.ts";
import { preparePackages, unfit } from "./packages.ts";
import { scenario } from "./scenario.ts";

const say = (line: string) => process.stdout.write(`${line}\n`);

/** What the end-to-end run cannot do without. @returns what is missing */
function missing(): string | undefined {
  return unfit() ?? missingForHelm() ?? preparePackages(say);
}

function redisServer(): string {
  const found = findServer(thisMachine());
  if ("binary" in found) return found.binary;
  throw new Error("no redis-server is on PATH: install Debian's redis-server, or set REDIS_SERVER_BIN");
}

function preparation(place: NodePlace, images: { built?: Images }): readonly Check[] {
  return [
    {
      name: "the images are built with buildah, from no registry",
      limit: 600,
      run: async () => {
        images.built = await buildImages(place, await baseImages(place, redisServer()));
      },
    },
    {
      name: "the node is up",
      limit: 120,
      run: async () => {
        const archives = Object.values(images.built ?? {}).filter((archive) => archive !== undefined);
        await nodeUp(place, archives);
      },
    },
  ];
}

/** What helps to see why a check failed. */
async function explain(cluster: ClusterCommands): Promise<void> {
  const questions = [
    ["get", "pods", "-A", "-o", "wide"],
    ["get", "webhookroutes", "-A", "-o", "yaml"],
    ["get", "events", "-A", "--sort-by=.lastTimestamp"],
    ...["controller", "gateway", "redis"].map((component) =>
      `-n davit-system logs -l app.kubernetes.io/component=${component} --tail=40 --prefix --all-containers`.split(" "),
    ),
    ["get", "cleanuppolicies,cleanupruns", "-A", "-o", "yaml"],
    ["-n", "shop", "logs", "-l", "davit.dev/component=cleaner", "--tail=40", "--prefix"],
    ["-n", "shop", "logs", "-l", "davit.dev/component=worker", "--tail=40", "--prefix"],
  ];
  for (const question of questions) {
    // oxlint-disable-next-line no-await-in-loop -- in order
    const answer = await cluster.kubectl(question).catch((error: unknown) => String(error));
    process.stderr.write(`--- kubectl ${question.join(" ")}\n${answer.split("\n").slice(-80).join("\n")}\n`);
  }
}

async function run(keep: boolean): Promise<number> {
  const problem = missing();
  if (problem !== undefined) {
    say(`e2e:node cannot run here: ${problem}`);
    return 2;
  }
  const place = nodePlace(await buildControlPlane(say));
  const cluster = new ClusterCommands(findHelm(4, say), kubeconfigOf(place));
  const images: { built?: Images } = {};
  const begin = performance.now();
  // An interrupted run leaves no node behind.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void nodeDown(place).finally(() => process.exit(1)));
  }
  let failure = await runChecks(preparation(place, images), say);
  if (failure === undefined) {
    const noStore = missingForCeph();
    if (noStore !== undefined) say(`the check of cleanups is left out: ${noStore}`);
    const parts = { hasHandler: images.built?.handler !== undefined, hasStore: noStore === undefined };
    failure = await runChecks(scenario(cluster, place.run, parts), say);
    if (failure !== undefined) await explain(cluster);
  }
  if (keep) say(`the node runs on: KUBECONFIG=${kubeconfigOf(place)}; the next run ends it`);
  else await nodeDown(place);
  say(`${failure === undefined ? "passed" : "FAILED"} in ${Math.round((performance.now() - begin) / 1_000)} s`);
  return failure === undefined ? 0 : 1;
}

const { values } = parseArgs({ options: { keep: { type: "boolean", default: false } } });
process.exitCode = await run(values.keep);
