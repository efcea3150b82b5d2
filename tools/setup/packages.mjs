import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Oldest Node that runs the TypeScript sources without a flag. */
const OLDEST_NODE = [22, 19];
/** Platforms for which the repository pins a Node of its own, as packages without an install script. */
const PINNED = ["linux-x64", "linux-arm64"];

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, devOptional?: boolean, link?: boolean }} Locked
 * @typedef {Record<string, Locked>} LockedPackages by their folder, `""` being the project itself
 */

/**
 * How to call npm: with the Node that runs us when npm started us, else by PATH.
 * @param {NodeJS.ProcessEnv} env
 * @returns {[command: string, leadingArguments: string[]]}
 */
export function npmCommand(env = process.env) {
  const cli = env["npm_execpath"];
  return cli !== undefined && basename(cli) === "npm-cli.js" ? [process.execPath, [cli]] : ["npm", []];
}

/**
 * @param {string} file a package-lock.json, or the copy npm leaves in node_modules
 * @returns {LockedPackages | undefined} undefined when it is missing or unreadable
 */
function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

/** @param {Locked | undefined} entry */
const identity = (entry) => `${entry?.version ?? ""} ${entry?.integrity ?? ""}`;

/**
 * Whether node_modules holds what the lock file says. It compares contents, not times: a checkout changes times at will,
 * and an interrupted install leaves no copy of the lock file, since npm writes that last.
 * Packages for other platforms (optional) may be absent; the pinned Node of this platform may not.
 * @param {string} root folder of the project
 * @param {string} platform such as `linux-x64`
 * @returns {"missing" | "stale" | "fresh"}
 */
export function packagesState(root, platform = `${process.platform}-${process.arch}`) {
  const modules = join(root, "node_modules");
  const wanted = readLock(join(root, "package-lock.json")) ?? {};
  const present = readLock(join(modules, ".package-lock.json"));
  if (present === undefined) return existsSync(modules) ? "stale" : "missing";
  const pinnedNode = `node_modules/node-${platform}`;
  const isNeeded = (/** @type {string} */ path, /** @type {Locked} */ entry) =>
    path !== "" && (path === pinnedNode || !(entry.optional || entry.devOptional || entry.link));
  const complete = Object.entries(wanted).every(
    ([path, entry]) => !isNeeded(path, entry) || (path in present && existsSync(join(root, path))),
  );
  const matching = Object.entries(present).every(
    ([path, entry]) => path in wanted && identity(entry) === identity(wanted[path]),
  );
  return complete && matching ? "fresh" : "stale";
}

/**
 * A cache folder that npm can write to: the configured one, else a temporary one (a read-only home must not stop us).
 * @param {NodeJS.ProcessEnv} env
 */
export function writableCache(env) {
  const configured = env["npm_config_cache"] || join(homedir(), ".npm");
  try {
    mkdirSync(configured, { recursive: true });
    accessSync(configured, constants.W_OK);
    return configured;
  } catch {
    const temporary = mkdtempSync(join(tmpdir(), "npm-cache-"));
    process.once("exit", () => rmSync(temporary, { recursive: true, force: true }));
    return temporary;
  }
}

/** @param {string} platform */
function nodeProblem(platform) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  if (PINNED.includes(platform) || major > oldestMajor || (major === oldestMajor && minor >= oldestMinor))
    return undefined;
  return `Node ${OLDEST_NODE.join(".")} or later is needed on ${platform} (this is ${process.versions.node}); install one from nodejs.org.`;
}

/**
 * Installs the locked packages when node_modules is missing or stale.
 * @param {string} root
 * @param {(line: string) => void} say
 * @returns {string | undefined} what is wrong, in one line
 */
export function preparePackages(root, say) {
  const problem = nodeProblem(`${process.platform}-${process.arch}`);
  if (problem !== undefined) return problem;
  const state = packagesState(root);
  if (state === "fresh") return undefined;
  say(`node_modules is ${state}: installing the locked npm packages (npm ci --ignore-scripts)`);
  const [npm, args] = npmCommand();
  // Development and optional packages are named, as NODE_ENV=production or an omit setting would leave them out.
  const options = ["ci", "--ignore-scripts", "--include=dev", "--include=optional", "--no-audit", "--no-fund"];
  const done = spawnSync(npm, [...args, ...options, "--loglevel=error"], {
    cwd: root,
    env: { ...process.env, npm_config_cache: writableCache(process.env) },
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (done.status === 0) return undefined;
  process.stderr.write(done.stderr ?? "");
  const how = done.error ? done.error.message : `exit code ${done.status ?? done.signal}`;
  return `npm ci failed (${how}). It needs network access to the npm registry, or the packages in npm's cache; then run this again.`;
}
