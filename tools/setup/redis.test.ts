import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Machine } from "./machine.mjs";
import { advice, findServer, prepareRedis } from "./redis.mjs";

const DEBIAN = 'ID=debian\nVERSION_ID="12"\n';
const UBUNTU = "ID=ubuntu\nID_LIKE=debian\n";

let bin = "";
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), "davit-setup-"));
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

/** Puts an executable of that name on the machine's PATH; what it prints is the business of `run`. */
const put = (name: string) => {
  writeFileSync(join(bin, name), "");
  chmodSync(join(bin, name), 0o755);
  return join(bin, name);
};

type Answers = Record<string, string | ((call: number) => string)>;

/** A machine whose commands answer by their text; an answer of `fail` is exit code 1. Every call is kept. */
const machine = (answers: Answers, rest: Partial<Machine> = {}) => {
  const calls: string[] = [];
  const value: Machine = {
    env: { PATH: bin },
    platform: "linux",
    isRoot: true,
    osRelease: DEBIAN,
    run(command, args) {
      const line = [command.replace(`${bin}/`, ""), ...args].join(" ");
      calls.push(line);
      const answer = answers[line] ?? "";
      const text = typeof answer === "string" ? answer : answer(calls.filter((call) => call === line).length);
      return text === "fail"
        ? { status: 1, stdout: "", stderr: "E: no luck\n" }
        : { status: 0, stdout: text, stderr: "" };
    },
    ...rest,
  };
  return { value, calls };
};

const REDIS_7 = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64";
const REDIS_6 = "Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64";
const VALKEY_8 = "Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64";
const INSTALL = "apt-get install -y -q --no-install-recommends redis-server";

describe("finding a server", () => {
  test("the first one on PATH that is new enough is taken", () => {
    put("redis-server");
    const valkey = put("valkey-server");
    const { value } = machine({ "redis-server --version": REDIS_6, "valkey-server --version": VALKEY_8 });
    expect(findServer(value)).toEqual({ binary: valkey });
  });

  test("REDIS_SERVER_BIN wins over PATH", () => {
    put("redis-server");
    const { value } = machine({ "/opt/r --version": VALKEY_8, "redis-server --version": REDIS_7 });
    expect(findServer({ ...value, env: { PATH: bin, REDIS_SERVER_BIN: "/opt/r" } })).toEqual({ binary: "/opt/r" });
  });

  test("a REDIS_SERVER_BIN that is too old is named, and nothing is installed in its place", () => {
    put("apt-get");
    const { value, calls } = machine({ "/opt/r --version": REDIS_6 });
    const { problem } = prepareRedis(() => {}, { ...value, env: { PATH: bin, REDIS_SERVER_BIN: "/opt/r" } });
    expect(problem).toContain("REDIS_SERVER_BIN is set and /opt/r is version 6.0.16");
    expect(calls).toEqual(["/opt/r --version"]);
  });
});

describe("installing as root on Debian and Ubuntu", () => {
  test.each([
    ["Debian", DEBIAN],
    ["Ubuntu", UBUNTU],
  ])("%s: the package is installed without fetching lists that are there already", (_name, osRelease) => {
    put("apt-get");
    const said: string[] = [];
    const { value, calls } = machine(
      {
        "apt-cache policy redis-server": "redis-server:\n  Candidate: 5:7.0.15-1~deb12u10\n",
        [INSTALL]: () => {
          put("redis-server");
          return "done";
        },
        "redis-server --version": REDIS_7,
      },
      { osRelease },
    );
    expect(prepareRedis((line) => said.push(line), value)).toEqual({ binary: join(bin, "redis-server") });
    expect(calls).not.toContain("apt-get update -q");
    expect(said).toEqual([expect.stringContaining("installing the Debian package redis-server")]);
  });

  test("empty package lists are fetched first", () => {
    put("apt-get");
    const { value, calls } = machine({
      "apt-cache policy redis-server": (call) => (call === 1 ? "" : "Candidate: 5:7.0.15-1"),
      [INSTALL]: () => {
        put("redis-server");
        return "done";
      },
      "redis-server --version": REDIS_7,
    });
    expect(prepareRedis(() => {}, value).problem).toBeUndefined();
    expect(calls.indexOf("apt-get update -q")).toBeLessThan(calls.indexOf(INSTALL));
    expect(calls).toContain("apt-get update -q");
  });

  test("a version that is too old is passed over for valkey", () => {
    put("apt-get");
    const { value } = machine({
      "apt-cache policy redis-server": "Candidate: 5:6.0.16-1ubuntu1",
      "apt-cache policy valkey-server": "Candidate: 8.1.1+dfsg1-1",
      "apt-get install -y -q --no-install-recommends valkey-server": () => {
        put("valkey-server");
        return "done";
      },
      "valkey-server --version": VALKEY_8,
    });
    expect(prepareRedis(() => {}, value)).toEqual({ binary: join(bin, "valkey-server") });
  });

  test("an installation that fails twice is told with apt's last line", () => {
    put("apt-get");
    const { value } = machine({ "apt-cache policy redis-server": "Candidate: 5:7.0.15-1", [INSTALL]: "fail" });
    expect(prepareRedis(() => {}, value).problem).toMatch(/apt-get install redis-server failed: E: no luck; .*run: /);
  });
});

describe("advice elsewhere", () => {
  test.each<[string, Partial<Machine>, string]>([
    [
      "Debian without root and without sudo, though apt-get is there",
      { isRoot: false },
      "run as root: apt-get install redis-server (or set",
    ],
    ["Fedora", { osRelease: "ID=fedora\n" }, "dnf install valkey"],
    ["Alpine", { osRelease: "ID=alpine\n" }, "apk add valkey"],
    ["macOS", { platform: "darwin", osRelease: "", isRoot: false }, "brew install redis"],
    ["an unknown system", { osRelease: "ID=plan9\n" }, "install one"],
  ])("%s", (_name, rest, text) => {
    put("apt-get");
    const { value, calls } = machine({}, rest);
    const { problem } = prepareRedis(() => {}, value);
    expect(problem).toContain(text);
    expect(problem).not.toContain("\n");
    expect(calls).toEqual([]);
  });

  test("with sudo the line can be pasted", () => {
    put("sudo");
    const { value } = machine({}, { isRoot: false });
    expect(advice(value, undefined)).toContain("run: sudo apt-get install redis-server");
  });
});
