import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { missingForCeph, prepareCeph } from "./ceph.mjs";
import type { Machine } from "./machine.mjs";

const PROGRAMS = ["radosgw", "radosgw-admin", "ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool"];
const INSTALL = "apt-get install -y -q --no-install-recommends radosgw ceph-mon ceph-osd";

let bin = "";
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), "davit-setup-"));
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

const put = (...names: string[]) => {
  for (const name of names) {
    writeFileSync(join(bin, name), "");
    chmodSync(join(bin, name), 0o755);
  }
};

/** A machine without Ceph, whose apt installs it at the given try, and knows it once the lists were fetched. */
const machine = (installsAt: number, rest: Partial<Machine> = {}) => {
  const calls: string[] = [];
  const value: Machine = {
    env: { PATH: bin },
    platform: "linux",
    isRoot: true,
    osRelease: "ID=debian\n",
    run(command, args) {
      const line = [command, ...args].join(" ");
      calls.push(line);
      if (command === "apt-cache") {
        const stdout = calls.includes("apt-get update -q") ? "Candidate: 16.2.15+ds-0" : "";
        return { status: 0, stdout, stderr: "" };
      }
      const isDone = line === INSTALL && calls.filter((call) => call === INSTALL).length >= installsAt;
      if (isDone) put(...PROGRAMS);
      const status = line !== INSTALL || isDone ? 0 : 100;
      return { status, stdout: "", stderr: status === 0 ? "" : "E: one\nE: no luck\n" };
    },
    ...rest,
  };
  return { value, calls };
};

test("nothing is run where every program is on PATH", () => {
  put(...PROGRAMS);
  const { value, calls } = machine(1);
  expect(prepareCeph(() => {}, value)).toBeUndefined();
  expect(calls).toEqual([]);
});

test("root on Debian fetches lists that do not know the packages, and installs them", () => {
  put("apt-get");
  const said: string[] = [];
  const { value, calls } = machine(1);
  expect(prepareCeph((line) => said.push(line), value)).toBeUndefined();
  expect(calls.slice(-2)).toEqual(["apt-get update -q", INSTALL]);
  expect(said.at(-1)).toContain("installing the Debian packages radosgw, ceph-mon, ceph-osd");
});

test("lists that name outdated files are fetched anew, once", () => {
  put("apt-get");
  const { value, calls } = machine(2);
  expect(prepareCeph(() => {}, value)).toBeUndefined();
  expect(calls.filter((call) => call.startsWith("apt-get"))).toEqual([
    "apt-get update -q",
    INSTALL,
    "apt-get update -q",
    INSTALL,
  ]);
});

test("an installation that fails is told with apt's last word and what is missing", () => {
  put("apt-get");
  const { value } = machine(9);
  const problem = prepareCeph(() => {}, value) ?? "";
  expect(problem).toMatch(/failed: E: no luck; .*radosgw.*apt-get install --no-install-recommends/);
});

test("nobody but root installs anything, and nothing is installed elsewhere than on Debian", () => {
  put("apt-get", "radosgw");
  for (const rest of [{ isRoot: false }, { osRelease: "ID=fedora\n" }]) {
    const { value, calls } = machine(1, rest);
    expect(prepareCeph(() => {}, value)).toContain("but radosgw-admin, ceph, ");
    expect(calls).toEqual([]);
  }
  expect(missingForCeph(machine(1, { isRoot: false }).value)).toContain("run as root: apt-get install");
});
