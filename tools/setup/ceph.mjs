import { isDebian, onPath, thisMachine } from "./machine.mjs";

/** @typedef {import("./machine.mjs").Machine} Machine */

/** Of Debian 12 (Ceph 16) and later; together 36 packages, 61 MB. */
const PACKAGES = ["radosgw", "ceph-mon", "ceph-osd"];

/** Programs that the tests' object store is started by; all of them come with {@link PACKAGES}. */
const PROGRAMS = ["radosgw", "radosgw-admin", "ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool"];

/** @param {Machine} machine */
const missingPrograms = (machine) => PROGRAMS.filter((name) => onPath(machine, name).length === 0);

/**
 * One line: what the tests' object store lacks here and how to get it; undefined when nothing.
 * @param {Machine} machine
 */
export function missingForCeph(machine = thisMachine()) {
  const missing = missingPrograms(machine);
  if (missing.length === 0) return undefined;
  const need = `the tests of cleanup need an object store, Ceph's radosgw, but ${missing.join(", ")} cannot be found on PATH`;
  if (!isDebian(machine)) return `${need}; on Debian 12 or later: apt-get install ${PACKAGES.join(" ")}`;
  return `${need}; run${machine.isRoot ? "" : " as root"}: apt-get install --no-install-recommends ${PACKAGES.join(" ")}`;
}

/** @param {Machine} machine */
function isKnownToApt(machine) {
  return PACKAGES.every((name) => /Candidate: \d/.test(machine.run("apt-cache", ["policy", name]).stdout));
}

/**
 * Installs the packages with apt. The package lists are fetched only when they do not name them, or outdated files.
 * @param {Machine} machine root on Debian or Ubuntu
 * @param {(line: string) => void} say
 * @returns {string | undefined} what went wrong
 */
function installWithApt(machine, say) {
  const update = () => {
    say("fetching the package lists (apt-get update)");
    machine.run("apt-get", ["update", "-q"]);
  };
  const install = () => machine.run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...PACKAGES]);
  if (!isKnownToApt(machine)) update();
  say(
    `installing the Debian packages ${PACKAGES.join(", ")} (apt-get install) for the tests; no service of theirs is used`,
  );
  let done = install();
  if (done.status !== 0) {
    update();
    done = install();
  }
  if (done.status === 0) return undefined;
  return `apt-get install ${PACKAGES.join(" ")} failed: ${done.stderr.trim().split("\n").at(-1)}`;
}

/**
 * Finds Ceph; as root on Debian or Ubuntu it installs it.
 * @param {(line: string) => void} say
 * @param {Machine} machine
 * @returns {string | undefined} what is missing: then the tests that need it are left out, except in CI
 */
export function prepareCeph(say, machine = thisMachine()) {
  if (missingPrograms(machine).length === 0) return undefined;
  const failure = machine.isRoot && isDebian(machine) ? installWithApt(machine, say) : undefined;
  const missing = missingForCeph(machine);
  return failure === undefined || missing === undefined ? missing : `${failure}; ${missing}`;
}
