import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlPlaneFolder, LINKS } from "./build.mjs";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "davit-build-test-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const cache = () => ({ XDG_CACHE_HOME: join(home, "cache") });

/** Puts a `go` on PATH that says its version, notes each build, and makes the file that was asked for, or fails. */
function fakeGo(version: string, exitCode = 0): void {
  mkdirSync(join(home, "bin"), { recursive: true });
  const script = `#!/bin/sh
if [ "$1" = env ]; then echo ${version}; exit; fi
echo build >> ${home}/builds
echo "some package: cannot find it"
sleep 0.3
while [ "$1" != -o ]; do shift; done
[ ${exitCode} = 0 ] && echo "#!/bin/sh" > "$2"
exit ${exitCode}
`;
  writeFileSync(join(home, "bin", "go"), script);
  chmodSync(join(home, "bin", "go"), 0o755);
}

function run(): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { ...cache(), PATH: `${join(home, "bin")}:/usr/bin:/bin` };
  const child = spawn(process.execPath, [join(import.meta.dirname, "build.mjs")], { env });
  const text = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text.stderr += chunk.toString()));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...text })));
}

const builds = () => readFileSync(join(home, "builds"), "utf8").trim().split("\n").length;

describe("the build of Kubernetes' own programs", () => {
  test("says in one line what it does, and leaves a folder with every program", async () => {
    fakeGo("go1.25.1");
    const folder = controlPlaneFolder(cache());
    const { code, stdout, stderr } = await run();
    expect([code, stdout]).toEqual([0, `${folder}\n`]);
    expect(stderr.trim().split("\n")).toEqual([expect.stringContaining("once: 7 to 13 minutes")]);
    expect(readdirSync(folder).toSorted()).toEqual(["knode", ...LINKS].toSorted());
    expect(await run()).toEqual({ code: 0, stdout: `${folder}\n`, stderr: "" });
    expect(builds()).toBe(1);
  });

  test("is done once when two ask at the same time", async () => {
    fakeGo("go1.25.1");
    const both = await Promise.all([run(), run()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.map(({ stderr }) => stderr).join("")).toContain("waiting");
    expect(builds()).toBe(1);
  });

  test("takes over the lock of a process that is gone", async () => {
    fakeGo("go1.25.1");
    const folder = controlPlaneFolder(cache());
    mkdirSync(dirname(folder), { recursive: true });
    // No process has this id: Linux's highest is 2^22.
    writeFileSync(`${folder}.lock`, "99999999");
    expect((await run()).code).toBe(0);
    expect(existsSync(`${folder}.lock`)).toBe(false);
  });

  test("that fails says what Go said, and leaves nothing that looks finished", async () => {
    fakeGo("go1.25.1", 1);
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain("some package: cannot find it");
    const left = readdirSync(dirname(controlPlaneFolder(cache())));
    expect(left).toEqual([expect.stringMatching(/\.log$/)]);
  });

  test.each(["go1.23.4", "devel"])("refuses Go of version %s", async (version) => {
    fakeGo(version);
    expect((await run()).stderr).toContain(`Go 1.24 or later is needed, and go on PATH is ${version}`);
  });

  test("says that Go is missing", async () => {
    expect((await run()).stderr).toContain("there is no go on PATH");
  });
});
