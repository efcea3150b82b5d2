import { VirtualStore } from "./virtual-store.ts";
import { carryOut, PREFIX, snapshotOf } from "./run.ts";

const CUTOFF = Date.UTC(2026, 0, 1);
const VERSIONS = 5;

// One Enforce run over a made-up bucket of as many versions as the argument says; prints the most memory that the process had, in MiB.
const versions = Number(process.argv[2]);
const store = new VirtualStore({
  prefix: PREFIX,
  keys: versions / VERSIONS,
  versions: VERSIONS,
  lastModified: CUTOFF - 1_000,
});
const snapshot = snapshotOf("Enforce", {
  region: "us-east-1",
  bucket: "bench",
  forcePathStyle: true,
  checksum: "Auto",
});
await carryOut(snapshot, () => ({ store, deleter: () => store.deleter() }), { cutoff: CUTOFF, expected: versions });
console.log(process.resourceUsage().maxRSS / 1_024);
