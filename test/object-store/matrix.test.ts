import { beforeEach, describe, expect, test } from "vitest";
import type { StoreAccess } from "../../src/cleanup/run/execute.ts";
import type { ObjectStore, VersionDeleter, VersionId } from "../../src/cleanup/store/port.ts";
import { makeBucket, type TestBucket } from "../support/object-store/bucket.ts";
import { carryOut, nameOf, PREFIX } from "../support/object-store/carry-out.ts";
import { sharedObjectStore } from "../support/object-store/shared.ts";
import { errorAnswer, startStoreProxy } from "../support/object-store/store-proxy.ts";

// What a run does to a real store, whatever happens meanwhile: hazards of versions, locks, listings and answers.

let bucket: TestBucket;
beforeEach(async () => {
  bucket = await makeBucket(sharedObjectStore(), { objectLock: true });
});

const key = (name: string) => `${PREFIX}${name}`;
const all = async () => (await bucket.all()).map(nameOf);
const put = async (name: string): Promise<VersionId> => ({ key: key(name), versionId: await bucket.put(key(name)) });

/** A moment that is later than all that was written, and earlier than all that will be. */
async function moment(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const now = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return now;
}

/** Something that happens once, before or after a call. */
function once(happen: () => Promise<unknown>): () => Promise<void> {
  let has = false;
  return async () => {
    if (has) return;
    has = true;
    await happen();
  };
}

interface Steps {
  readonly beforeDelete?: () => Promise<void>;
  readonly afterDelete?: () => Promise<void>;
  readonly beforeList?: (page: number) => Promise<void>;
}

function between({ beforeDelete, afterDelete, beforeList }: Steps) {
  return ({ store, deleter }: StoreAccess): StoreAccess => {
    let pages = 0;
    const listVersions: ObjectStore["listVersions"] = async (...args) => {
      pages += 1;
      await beforeList?.(pages);
      return store.listVersions(...args);
    };
    const watched = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name === "listVersions") return listVersions;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const around = async <T>(call: () => Promise<T>): Promise<T> => {
      await beforeDelete?.();
      const outcome = await call();
      await afterDelete?.();
      return outcome;
    };
    const wrapped = (inner: VersionDeleter): VersionDeleter => ({
      deleteBatch: (...args) => around(() => inner.deleteBatch(...args)),
      deleteOne: (...args) => around(() => inner.deleteOne(...args)),
    });
    return { store: watched, deleter: () => wrapped(deleter()) };
  };
}

describe("versions", () => {
  test("those before the cutoff go, newer ones and other prefixes stay", async () => {
    const old = [await put("a"), await put("a"), await put("b")];
    await bucket.put("warehouses/wh-10/a");
    const other = await bucket
      .all()
      .then((entries) => entries.filter(({ key: name }) => name.includes("wh-10")).map(nameOf));
    const cutoff = await moment();
    const young = [await put("a"), await put("c")];
    const { status, planned } = await carryOut(bucket, { cutoff });
    expect(status).toMatchObject({ phase: "Succeeded", counters: { planned: 3, deleted: 3, kept: 0 } });
    expect(planned).toEqual(old.map(nameOf));
    expect(await all()).toEqual([...young.map(nameOf), ...other]);
  });

  test("one that is written while an older one under its key is deleted survives", async () => {
    const g42 = await put("g");
    const cutoff = await moment();
    let g43: VersionId | undefined;
    const write = once(async () => {
      g43 = await put("g");
    });
    const { status } = await carryOut(bucket, { cutoff, between: between({ beforeDelete: write }) });
    expect(status).toMatchObject({ phase: "Succeeded", counters: { deleted: 1 } });
    expect(await all()).toEqual([g43 && nameOf(g43)]);
    expect(await all()).not.toContain(nameOf(g42));
  });

  test("one that somebody else deleted counts as absent", async () => {
    const [first, second] = [await put("a"), await put("b")];
    const cutoff = await moment();
    // The survey has listed it; before the pages that decide it is gone.
    const gone = async (page: number) => (page === 2 ? bucket.remove(first) : undefined);
    const { status } = await carryOut(bucket, { cutoff, between: between({ beforeList: gone }) });
    expect(status.phase).toBe("Succeeded");
    expect(await all()).not.toContain(nameOf(second));
    expect(await all()).toEqual([]);
  });

  test("a delete marker goes with all it hides, and not before", async () => {
    await put("a");
    await bucket.mark(key("a"));
    const held = await put("b");
    await bucket.hold(held);
    const marker = { key: key("b"), versionId: await bucket.mark(key("b")) };
    const cutoff = await moment();
    const { status } = await carryOut(bucket, { cutoff });
    expect(status).toMatchObject({ phase: "Succeeded", reasons: { LegalHold: 1, DeleteMarkerNeeded: 1 } });
    expect(await all()).toEqual([nameOf(marker), nameOf(held)]);
  });

  test("null versions of a bucket that had no versioning stay, and so do those over them", async () => {
    bucket = await makeBucket(sharedObjectStore(), { unversioned: true });
    await put("a");
    await bucket.setVersioning("Enabled");
    const over = await put("a");
    const plain = await put("b");
    const { status } = await carryOut(bucket, { cutoff: await moment() });
    expect(status).toMatchObject({ phase: "Succeeded", reasons: { NullVersion: 1, ProtectedSibling: 1 } });
    expect(await all()).toEqual([nameOf(over), `${key("a")}@null`]);
    expect(await all()).not.toContain(nameOf(plain));
  });
});

describe("locks", () => {
  test("held, retained and tagged versions stay with the newer ones of their key, until they are free", async () => {
    const held = [await put("held"), await put("held")] as const;
    await bucket.hold(held[0]);
    const until = Date.now() + 6_000;
    const retained = await put("retained");
    await bucket.retain(retained, { mode: "Compliance", until });
    const tagged = await put("tagged");
    await bucket.tag(tagged, [{ key: "dispute", value: "17" }]);
    const cutoff = await moment();
    const exclusions = { tags: [{ key: "dispute" }] };
    const first = await carryOut(bucket, { cutoff, exclusions });
    expect(first.status).toMatchObject({
      phase: "Succeeded",
      reasons: { LegalHold: 1, ProtectedSibling: 1, Retention: 1, ProtectedTag: 1 },
      counters: { deleted: 0, kept: 4 },
    });
    expect(await all()).toHaveLength(4);
    await bucket.release(held[0]);
    await bucket.tag(tagged, []);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, until + 1_000 - Date.now())));
    const second = await carryOut(bucket, { cutoff, exclusions });
    expect(second.status).toMatchObject({ phase: "Succeeded", counters: { deleted: 4 } });
    expect(await all()).toEqual([]);
  });

  test("a hold that is set between the last look and the delete is the store's word: the version stays, and is told", async () => {
    const [late, free] = [await put("a"), await put("b")];
    const cutoff = await moment();
    const hold = once(() => bucket.hold(late));
    const { status } = await carryOut(bucket, { cutoff, between: between({ beforeDelete: hold }) });
    expect(status).toMatchObject({
      phase: "CompletedWithSkips",
      counters: { deleted: 1, failed: 1 },
      reasons: { LockedByStore: 1 },
      samples: [{ key: late.key, versionId: late.versionId, reason: "LockedByStore" }],
    });
    expect(await all()).toEqual([nameOf(late)]);
    expect(await all()).not.toContain(nameOf(free));
  });

  test("keys that a manifest names stay", async () => {
    const used = await put("used");
    await put("unused");
    await bucket.put("manifests/wh-1/current.json", { body: JSON.stringify({ files: [{ path: used.key }] }) });
    const manifests = [{ prefix: "manifests/wh-1/", keysFrom: "json:/files/*/path" }];
    const { status } = await carryOut(bucket, { cutoff: await moment(), exclusions: { manifests } });
    expect(status).toMatchObject({ phase: "Succeeded", counters: { deleted: 1 }, reasons: { InManifest: 1 } });
    expect(await all()).toEqual([expect.stringContaining("manifests/wh-1/"), nameOf(used)]);
  });
});

describe("listings", () => {
  test("2,500 keys, some of many versions, go in pages that end within keys", async () => {
    const names = Array.from({ length: 2_500 }, (_, index) => key(`k${String(index).padStart(5, "0")}`));
    await bucket.putAll(names);
    await bucket.putAll(names.filter((_, index) => index % 333 === 0).flatMap((name) => [name, name, name]));
    const cutoff = await moment();
    const dry = await carryOut(bucket, { cutoff, mode: "DryRun" });
    expect(await all()).toHaveLength(2_524);
    const { status, planned } = await carryOut(bucket, { cutoff, batchSize: 250 });
    expect(status).toMatchObject({ phase: "Succeeded", counters: { deleted: 2_524, kept: 0 } });
    expect(planned).toEqual(dry.planned);
    expect(status.planDigest).toBe(dry.status.planDigest);
    expect(await all()).toEqual([]);
  }, 180_000);

  test("1,100 versions of one key go, the latest last", async () => {
    await bucket.putAll(Array.from({ length: 1_100 }, () => key("one")));
    const { status } = await carryOut(bucket, { cutoff: await moment(), batchSize: 250 });
    expect(status).toMatchObject({ phase: "Succeeded", counters: { deleted: 1_100 } });
    expect(await all()).toEqual([]);
  }, 180_000);

  test("what a listing leaves out since its marker's version was deleted by somebody else is found by another pass", async () => {
    const names = Array.from({ length: 999 }, (_, index) => key(`a${String(index).padStart(4, "0")}`));
    await bucket.putAll(names);
    const versions = [await put("b"), await put("b"), await put("b")] as const;
    const cutoff = await moment();
    // The first page of a pass ends with the latest version of b.
    const steal = async (page: number) => (page === 4 ? bucket.remove(versions[2]) : undefined);
    const { status } = await carryOut(bucket, { cutoff, batchSize: 250, between: between({ beforeList: steal }) });
    expect(status.phase).toBe("Succeeded");
    expect(await all()).toEqual([]);
  }, 180_000);

  test("keys of every kind go, those that XML cannot carry one by one", async () => {
    const odd = [
      "p+q",
      "p%2Fq",
      "p q",
      " p",
      "q ",
      "a//b",
      "<&>\"'",
      "ü",
      "\u{1F600}",
      "\u0001",
      "line\nfeed",
      "x".repeat(1_000),
    ];
    await bucket.putAll(odd.map(key));
    const { status } = await carryOut(bucket, { cutoff: await moment() });
    expect(status).toMatchObject({ phase: "Succeeded", counters: { deleted: odd.length } });
    expect(await all()).toEqual([]);
  });

  test("a run goes on after the last key that is settled", async () => {
    const [first, second] = [await put("a"), await put("b")];
    const cutoff = await moment();
    const lastKey = Buffer.from(first.key).toString("base64");
    const status = { checkpoint: { pass: "Delete", round: 1, lastKey }, counters: { listed: 1 }, attempts: 1 } as const;
    const outcome = await carryOut(bucket, { cutoff, status });
    expect(outcome.planned[0]).toBe(nameOf(second));
    // The pass that verifies finds what the checkpoint left out.
    expect(outcome.status.phase).toBe("Succeeded");
    expect(await all()).toEqual([]);
  });
});

describe("a run that must not begin ends with its reason, and nothing is deleted", () => {
  /** How a run ends, and whether it left the bucket as it was. */
  const outcome = async (options: Partial<Parameters<typeof carryOut>[1]> = {}) => {
    const before = await all();
    const { status } = await carryOut(bucket, { cutoff: Date.now() + 1_000, ...options });
    return [status.phase, status.reason, JSON.stringify(await all()) === JSON.stringify(before)];
  };
  const refused = (reason: string) => ["Failed", reason, true];

  test("wrong credentials", async () => {
    await put("a");
    const { accessKeyId } = sharedObjectStore();
    expect(await outcome({ credentials: { accessKeyId, secretAccessKey: "wrong" } })).toEqual(
      refused("InvalidCredentials"),
    );
    expect(await outcome({ credentials: { accessKeyId: "nobody", secretAccessKey: "wrong" } })).toEqual(
      refused("InvalidCredentials"),
    );
  });

  test("a bucket that is not there", async () => {
    expect(await outcome({ s3: { bucket: "not-there" } })).toEqual(refused("BucketNotFound"));
  });

  test("a bucket without versioning, and one where it is suspended", async () => {
    bucket = await makeBucket(sharedObjectStore(), { unversioned: true });
    await put("a");
    expect(await outcome()).toEqual(refused("VersioningNotEnabled"));
    await bucket.setVersioning("Enabled");
    await bucket.suspendVersioning();
    expect(await outcome()).toEqual(refused("VersioningSuspended"));
  });

  test("MFA delete, a clock that is wrong, a listing that lies", async () => {
    await put("a");
    await put("b");
    const proxy = await startStoreProxy(sharedObjectStore().endpoint);
    const { endpoint } = proxy;
    try {
      const isVersioning = (url: string) => /[?&]versioning/.test(url);
      const mfa = "<MfaDelete>Enabled</MfaDelete></VersioningConfiguration>";
      proxy.change = (answer, { url }) =>
        isVersioning(url)
          ? {
              ...answer,
              body: answer.body.replace(/<MfaDelete>.*?<\/MfaDelete>/, "").replace("</VersioningConfiguration>", mfa),
            }
          : answer;
      expect(await outcome({ s3: { endpoint } })).toEqual(refused("MFADeleteEnabled"));
      const late = new Date(Date.now() + 600_000).toUTCString();
      proxy.change = (answer) => ({ ...answer, headers: { ...answer.headers, date: late } });
      expect(await outcome({ s3: { endpoint } })).toEqual(refused("ClockSkew"));
      proxy.change = (answer, { url }) =>
        /[?&]versions/.test(url) ? { ...answer, body: answer.body.replaceAll("wh-1", "wh-2") } : answer;
      expect(await outcome({ s3: { endpoint } })).toEqual(refused("InvalidListing"));
    } finally {
      await proxy.stop();
    }
  });

  test("who may not read locks", async () => {
    await put("a");
    const proxy = await startStoreProxy(sharedObjectStore().endpoint);
    try {
      proxy.instead = ({ url }) =>
        /[?&](retention|legal-hold)/.test(url) ? errorAnswer(403, "AccessDenied") : undefined;
      expect(await outcome({ s3: { endpoint: proxy.endpoint } })).toEqual(refused("LockRightsMissing"));
    } finally {
      await proxy.stop();
    }
  });

  test("too many deletes", async () => {
    await bucket.putAll(["a", "b", "c"].map(key));
    expect(await outcome({ safety: { maxDeletesPerRun: 2, maxDeletePercent: 100 } })).toEqual(
      refused("TooManyDeletes"),
    );
    expect(await outcome({ safety: { maxDeletesPerRun: 10, maxDeletePercent: 99 } })).toEqual(
      refused("TooManyDeletes"),
    );
  });
});

describe("a store that is unwell", () => {
  test("SlowDown, refusals of single versions and answers that say nothing are tried again until all is gone", async () => {
    await bucket.putAll(Array.from({ length: 40 }, (_, index) => key(String(index))));
    const cutoff = await moment();
    const proxy = await startStoreProxy(sharedObjectStore().endpoint);
    let deletes = 0;
    let listings = 0;
    proxy.instead = ({ method, url }) => {
      if (/[?&]versions/.test(url)) listings += 1;
      if (/[?&]versions/.test(url) && listings === 2) return errorAnswer(503, "SlowDown");
      if (method !== "POST" || !/[?&]delete/.test(url)) return undefined;
      deletes += 1;
      if (deletes === 1) return errorAnswer(503, "SlowDown");
      return deletes === 2 ? { status: 200, headers: {}, body: "<DeleteResult></DeleteResult>" } : undefined;
    };
    proxy.change = (answer, { url }) =>
      deletes === 3 && /[?&]delete/.test(url)
        ? { ...answer, body: answer.body.replace(/<Deleted>.*?<Key>(.*?)<\/Key>.*?<\/Deleted>/s, refusedForNow) }
        : answer;
    try {
      const { status } = await carryOut(bucket, { cutoff, batchSize: 20, s3: { endpoint: proxy.endpoint } });
      expect(status).toMatchObject({ phase: "Succeeded" });
      const { deleted = 0, alreadyAbsent = 0 } = status.counters ?? {};
      expect(deleted + alreadyAbsent).toBe(40);
      expect(await all()).toEqual([]);
    } finally {
      await proxy.stop();
    }
  }, 120_000);

  test("one that fails for good ends the run after its attempts", async () => {
    await put("a");
    const cutoff = await moment();
    const proxy = await startStoreProxy(sharedObjectStore().endpoint);
    proxy.instead = ({ url }) => (/[?&]versions/.test(url) ? errorAnswer(500, "InternalError") : undefined);
    try {
      const { status } = await carryOut(bucket, { cutoff, maxAttempts: 1, s3: { endpoint: proxy.endpoint } });
      expect(status).toMatchObject({ phase: "Failed", reason: "AttemptsExhausted", attempts: 1 });
      expect(status.lastError).toMatchObject({ reason: "StoreUnavailable" });
      expect(await all()).toHaveLength(1);
    } finally {
      await proxy.stop();
    }
  }, 120_000);
});

test("a dry run leaves the bucket as it was, and sends nothing that could change it", async () => {
  await bucket.putAll(["a", "b", "b"].map(key));
  await bucket.mark(key("c"));
  const cutoff = await moment();
  const before = await bucket.all();
  const proxy = await startStoreProxy(sharedObjectStore().endpoint);
  try {
    const { status } = await carryOut(bucket, { cutoff, mode: "DryRun", s3: { endpoint: proxy.endpoint } });
    expect(status).toMatchObject({ phase: "Succeeded", counters: { planned: 4 } });
    expect(await bucket.all()).toEqual(before);
    expect(new Set(proxy.requests.map(({ method }) => method))).toEqual(new Set(["GET", "HEAD"]));
  } finally {
    await proxy.stop();
  }
});

/** As S3 words the refusal of one version within a batch. */
function refusedForNow(deleted: string, name: string): string {
  const version = /<VersionId>(.*?)<\/VersionId>/.exec(deleted)?.[1] ?? "";
  return `<Error><Key>${name}</Key><VersionId>${version}</VersionId><Code>InternalError</Code><Message>again</Message></Error>`;
}
