import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DevDirectory, readDevState } from "./state.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "davit-state-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const file = () => join(dir, "dev.json");

/** A pid that was somebody's and is nobody's now. */
function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

describe("DevDirectory", () => {
  it("refuses a directory that a living process holds, and names it", () => {
    DevDirectory.take(dir, "default");
    expect(() => DevDirectory.take(dir, "default")).toThrow(`another davit dev (pid ${process.pid}) uses ${dir}`);
  });

  it("gives the directory up", () => {
    DevDirectory.take(dir, "default").release();
    expect(DevDirectory.take(dir, "default").leftover).toBeUndefined();
  });

  it("takes over from a dead process, and tells what it left", () => {
    const redis = { url: "redis://127.0.0.1:1", pid: 4 };
    writeFileSync(file(), JSON.stringify({ pid: deadPid(), processStart: "", instance: "default", redis, routes: [] }));
    expect(DevDirectory.take(dir, "default").leftover?.redis).toEqual(redis);
    // Whoever takes over next must find it too, should this process be killed at once.
    expect(readDevState(dir)?.redis).toEqual(redis);
  });

  it.runIf(process.platform === "linux")("is not fooled by another process that got the same pid", () => {
    writeFileSync(file(), JSON.stringify({ pid: process.pid, processStart: "1", instance: "default", routes: [] }));
    expect(readDevState(dir)).toBeUndefined();
  });

  it("takes over a state that was cut off", () => {
    writeFileSync(file(), '{"pid": 1');
    expect(DevDirectory.take(dir, "default").leftover).toBeUndefined();
    expect(readDevState(dir)?.pid).toBe(process.pid);
  });

  it("lets nobody else read the Redis password", () => {
    const held = DevDirectory.take(dir, "default");
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    held.update({ redis: { url: "redis://:secret@127.0.0.1:1" } });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readFileSync(file(), "utf8")).toContain("redis://:secret@");
  });
});

describe("readDevState", () => {
  it("tells of a running process only", () => {
    expect(readDevState(dir)).toBeUndefined();
    const held = DevDirectory.take(dir, "default");
    held.update({ gateway: "http://127.0.0.1:8080" });
    expect(readDevState(dir)?.gateway).toBe("http://127.0.0.1:8080");
    held.release();
    expect(readDevState(dir)).toBeUndefined();
  });
});
