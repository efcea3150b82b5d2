import { createHash } from "node:crypto";
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import type { CleanupSnapshot } from "../../../api/generated/cleanup-run.ts";
import { refuseOtherAnswers } from "./answer-root.ts";

/** Keys of a user of the store. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** With it a function is asked again before; without it, never. */
  readonly expiration?: Date;
}

export interface S3StoreOptions {
  readonly s3: CleanupSnapshot["s3"];
  /** Absent: what the process has by its environment or service account, as the SDK finds it. */
  readonly credentials?: S3Credentials | (() => Promise<S3Credentials>);
  /** PEM authorities instead of the system's. */
  readonly ca?: string;
  /** Most connections; more requests wait. Default {@link DEFAULT_CONCURRENCY}. */
  readonly concurrency?: number;
  /** How long is waited; for tests. */
  readonly timeouts?: Partial<Timeouts>;
}

export interface Timeouts {
  /** For a connection, ms. */
  readonly connectMs: number;
  /** For the head of an answer, ms: a batch of 1,000 deletes took 22 s of an idle Ceph. */
  readonly answerMs: number;
  /** Between two parts of an answer, ms. */
  readonly idleMs: number;
}

const DEFAULT_CONCURRENCY = 32;
const TIMEOUTS: Timeouts = { connectMs: 5_000, answerMs: 60_000, idleMs: 60_000 };
const MAX_ATTEMPTS = 3;

/** What is seen of every answer. */
export interface Observer {
  /** @param storeTime the store's clock, Unix ms, by `Date`: whole seconds */
  clock(storeTime: number): void;
}

/**
 * A client of one store. It goes directly: agents of our own know no proxy of the environment, and neither do they pass the guard of src/egress, which keeps
 * senders of events away from the cluster's own addresses. A store may well be in the cluster, and its address comes from who may write a policy together
 * with the credentials; what it answers is never shown to anybody.
 *
 * @param shared another one of the same store, whose connections and credentials it uses; it tries nothing a second time. Deletes are made by such a one: whether
 * they may be repeated is decided anew each time, by whoever knows who holds the run and how old the facts are.
 */
export function s3Client(options: S3StoreOptions, observer: Observer, shared?: S3Client): S3Client {
  const { s3 } = options;
  const credentials = shared?.config.credentials ?? options.credentials;
  const config: S3ClientConfig = {
    region: s3.region,
    forcePathStyle: s3.forcePathStyle,
    // A variable of the environment must not lead deletes to another store than the policy names.
    ignoreConfiguredEndpointUrls: true,
    retryMode: "standard",
    maxAttempts: shared === undefined ? MAX_ATTEMPTS : 1,
    requestHandler: shared?.config.requestHandler ?? connections(options),
    // Stores that know no checksums get none that they must know; a delete has one by its own rules.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // Buckets in other regions are refused instead of followed: a policy says where its bucket is.
    followRegionRedirects: false,
    ...(s3.endpoint === undefined ? {} : { endpoint: s3.endpoint }),
    ...(credentials === undefined ? {} : { credentials }),
  };
  const client = new S3Client(config);
  refuseOtherAnswers(client);
  observeClock(client, observer);
  if (s3.checksum === "MD5") signWithMd5(client);
  return client;
}

function connections(options: S3StoreOptions): NonNullable<S3ClientConfig["requestHandler"]> {
  const { connectMs, answerMs, idleMs } = { ...TIMEOUTS, ...options.timeouts };
  const sockets = { keepAlive: true, maxSockets: options.concurrency ?? DEFAULT_CONCURRENCY };
  return {
    httpAgent: new Agent(sockets),
    httpsAgent: new TlsAgent({ ...sockets, ...(options.ca === undefined ? {} : { ca: options.ca }) }),
    connectionTimeout: connectMs,
    requestTimeout: answerMs,
    throwOnRequestTimeout: true,
    socketTimeout: idleMs,
  };
}

/** Reads the clock of every answer, whatever it says. */
function observeClock(client: S3Client, observer: Observer): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers = {} } = result.response as { readonly headers?: Readonly<Record<string, string>> };
      clockOf(headers, observer);
      return result;
    },
    { step: "deserialize", priority: "low", name: "davitClock" },
  );
}

/** Tells the clock of an answer, if it has one. */
export function clockOf(headers: Readonly<Record<string, string>>, observer: Observer): void {
  const storeTime = Date.parse(headers["date"] ?? "");
  if (Number.isFinite(storeTime)) observer.clock(storeTime);
}

/** Content-MD5 instead of the newer checksums, for DeleteObjects, which must have one of them. */
function signWithMd5(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName === "DeleteObjectsCommand") {
        const { headers, body } = args.request as { headers: Record<string, string>; body: string | Uint8Array };
        for (const name of Object.keys(headers)) if (/^x-amz-(sdk-)?checksum/i.test(name)) delete headers[name];
        headers["content-md5"] = createHash("md5").update(body).digest("base64");
      }
      return next(args);
    },
    { step: "build", priority: "low", name: "davitMd5" },
  );
}
