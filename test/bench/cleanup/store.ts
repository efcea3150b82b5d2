import type { CleanupSnapshot } from "../../../src/api/generated/cleanup-run.ts";
import { createS3Store } from "../../../src/cleanup/store/s3/s3-store.ts";
import type { VersionId } from "../../../src/cleanup/store/port.ts";
import type { ObjectStoreLocation } from "../../support/object-store/location.ts";
import { makeBucket, type TestBucket } from "../../support/object-store/bucket.ts";
import { carryOut, PREFIX, snapshotOf } from "./run.ts";

const CALM = new AbortController().signal;
const BATCH = 250;
const TAGS = [{ key: "class", value: "label" }];

/** Seconds that each side took for the same number of versions. */
export interface StoreTimes {
  readonly dryRun: number[];
  readonly enforce: number[];
  readonly batches: number[];
}

type Side = (location: ObjectStoreLocation, versions: number, times: StoreTimes) => Promise<void>;

/** The store's own batches one after the other. */
const ownBatches: Side = async (location, versions, times) => {
  const { bucket, written } = await filled(location, versions);
  const access = open(bucket.s3, location);
  times.batches.push(await seconds(() => deleteAll(access.deleter(), written)));
  access.store.close();
};

/** A dry run and an Enforce run over as many versions. */
const runs: Side = async (location, versions, times) => {
  const { bucket } = await filled(location, versions);
  // A run waits for its cutoff, and the store tells whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const cutoff = Date.now();
  const run = (mode: "DryRun" | "Enforce") =>
    carryOut(snapshotOf(mode, bucket.s3), () => open(bucket.s3, location), { cutoff, expected: versions });
  times.dryRun.push(await seconds(() => run("DryRun")));
  times.enforce.push(await seconds(() => run("Enforce")));
};

/** A round of both, each first by turns: a store gets slower with what was deleted from it before. */
export async function storeRound(
  location: ObjectStoreLocation,
  { round, versions }: { readonly round: number; readonly versions: number },
  times: StoreTimes,
): Promise<void> {
  const sides = [ownBatches, runs];
  // oxlint-disable-next-line no-await-in-loop -- one thing at a time has the store
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side(location, versions, times);
}

function open(s3: CleanupSnapshot["s3"], { accessKeyId, secretAccessKey }: ObjectStoreLocation) {
  return createS3Store({ s3, credentials: { accessKeyId, secretAccessKey } });
}

async function filled(
  location: ObjectStoreLocation,
  versions: number,
): Promise<{ readonly bucket: TestBucket; readonly written: readonly VersionId[] }> {
  const bucket = await makeBucket(location);
  const keys = Array.from({ length: versions }, (_, index) => `${PREFIX}${String(index).padStart(6, "0")}`);
  const queue = keys.entries();
  const written: VersionId[] = [];
  const write = async () => {
    // oxlint-disable-next-line no-await-in-loop -- each of the writers writes one at a time
    for (const [index, key] of queue) written[index] = { key, versionId: await bucket.put(key, { tags: TAGS }) };
  };
  await Promise.all(Array.from({ length: 16 }, write));
  return { bucket, written };
}

async function deleteAll(
  deleter: ReturnType<ReturnType<typeof open>["deleter"]>,
  versions: readonly VersionId[],
): Promise<void> {
  for (let from = 0; from < versions.length; from += BATCH) {
    // oxlint-disable-next-line no-await-in-loop -- one batch after the other is what is measured
    const outcomes = await deleter.deleteBatch(versions.slice(from, from + BATCH), CALM);
    if (outcomes.some(({ type }) => type !== "deleted")) throw new Error("the store did not delete all of a batch");
  }
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - started) / 1e9;
}
