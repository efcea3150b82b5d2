// node tools/setup.mjs NAME [ARGS]: makes a fresh clone ready, then runs the npm script `NAME:run` with ARGS.
// No dependency and no recent syntax: it runs on the machine's own Node (20 or later) before anything is installed.
// Silent when there is nothing to do; otherwise it says in one line what it installs, or what is missing and how to get it.
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { prepareCeph } from "./setup/ceph.mjs";
import { npmCommand, preparePackages } from "./setup/packages.mjs";
import { prepareRedis } from "./setup/redis.mjs";
import { runToEnd } from "./setup/run.mjs";

const root = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
/** @param {string} line */
const say = (line) => process.stderr.write(`setup: ${line}\n`);

const [name, ...args] = process.argv.slice(2);
if (name === undefined) {
  say("usage: node tools/setup.mjs NAME [ARGS], NAME being start or test");
  process.exit(2);
}

const problem = preparePackages(root, say);
const redis = problem === undefined ? prepareRedis(say) : { problem };
if (redis.problem !== undefined) {
  say(redis.problem);
  process.exit(1);
}

if (name === "test") {
  // Only some of the tests need it; in CI all of them must run.
  const missing = prepareCeph(say);
  if (missing !== undefined) say(missing);
  if (missing !== undefined && process.env["CI"] === "true") process.exit(1);
}

// The npm script finds the pinned Node in node_modules/.bin, and every part below uses the server checked here.
const [npm, npmArgs] = npmCommand();
process.exitCode = await runToEnd(npm, [...npmArgs, "run", "-s", `${name}:run`, "--", ...args], {
  cwd: root,
  env: { ...process.env, REDIS_SERVER_BIN: redis.binary },
});
