import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { RequestView } from "../../src/gateway/request-view.ts";
import { Secret } from "../../src/lib/secret.ts";
import type { SignInput, VerificationKey } from "../../src/verification/types.ts";
import { createVerifier } from "../../src/verification/verifier.ts";

/** Bytes of each body. */
export const VERIFY_BODY_BYTES = 2_048;
/** Short, so that both sides of a pair meet the same moment of the machine. */
const PAIRS_PER_ROUND = 100;
/** Calls of each side before anything is measured, and in each pair. */
const EFFORT = { warmUp: 20_000, calls: 200 };
const NOW = 1_760_000_000_000;
const URL = "https://hooks.example.com/in";
const ID = "msg_2b1k8vJ0Yx3Zc7";

/** What is measured of a provider: ns for each call, one value a pair. */
export interface VerifyTimes {
  readonly davitNs: readonly number[];
  readonly hmacNs: readonly number[];
}

export type VerifyResult = Readonly<Record<string, VerifyTimes>>;

interface Subject {
  readonly provider: string;
  readonly secret: string;
  /** The bytes of the key behind the secret. */
  readonly keyBytes: Buffer;
  readonly encoding: "hex" | "base64";
  /** Text before the body in the signed content. */
  readonly head: string;
}

const KEY = Buffer.alloc(32, 0x5a);
const SECONDS = String(NOW / 1_000);

const SUBJECTS: readonly Subject[] = [
  { provider: "github", secret: "github-secret", keyBytes: Buffer.from("github-secret"), encoding: "hex", head: "" },
  {
    provider: "stripe",
    secret: "whsec_stripe",
    keyBytes: Buffer.from("whsec_stripe"),
    encoding: "hex",
    head: `${SECONDS}.`,
  },
  {
    provider: "standard-webhooks",
    secret: `whsec_${KEY.toString("base64")}`,
    keyBytes: KEY,
    encoding: "base64",
    head: `${ID}.${SECONDS}.`,
  },
];

/** Times verification against the bare HMAC over the same bytes, in short pairs by turns. */
export function benchVerify(rounds: number, { warmUp, calls } = EFFORT): VerifyResult {
  const sides = SUBJECTS.map((subject) => ({
    provider: subject.provider,
    davit: verifyOnce(subject),
    hmac: hmacOnce(subject),
    times: { davitNs: [] as number[], hmacNs: [] as number[] },
  }));
  for (const { davit, hmac } of sides) {
    time(davit, warmUp);
    time(hmac, warmUp);
  }
  for (let pair = 0; pair < rounds * PAIRS_PER_ROUND; pair += 1) {
    for (const { davit, hmac, times } of sides) {
      times.hmacNs.push(time(hmac, calls));
      times.davitNs.push(time(davit, calls));
    }
  }
  return Object.fromEntries(sides.map(({ provider, times }) => [provider, times]));
}

/** @returns ns for each call */
function time(call: () => void, calls: number): number {
  const start = process.hrtime.bigint();
  for (let at = 0; at < calls; at += 1) call();
  return Number(process.hrtime.bigint() - start) / calls;
}

/** The body as JSON; that it is no other content does not matter to a hash. */
function body(): Buffer {
  const head = `{"id":"${ID}","data":"`;
  return Buffer.from(`${head}${"x".repeat(VERIFY_BODY_BYTES - head.length - 2)}"}`);
}

/** As the gateway verifies: headers among those that a proxy adds, the key ring prepared. */
function verifyOnce({ provider, secret }: Subject): () => void {
  const verifier = createVerifier({ type: "provider", provider });
  const keys: readonly VerificationKey[] = [{ id: "00000001", state: "current", secret: Secret.of(secret) }];
  const input: SignInput = { method: "POST", url: URL, path: "/in", body: body(), id: ID };
  const { headers } = verifier.sign(input, keys, NOW);
  const incoming = { method: "POST", rawHeaders: rawHeaders(headers) };
  return () => {
    const request = new RequestView(incoming, "/in", URL);
    request.body = input.body;
    const verdict = verifier.verify(request, keys, NOW);
    if (!verdict.ok) throw new Error(`${provider}: ${verdict.reason}`);
  };
}

function rawHeaders(signed: Readonly<Record<string, string>>): string[] {
  const usual = {
    Host: "hooks.example.com",
    "User-Agent": "sender/1.0",
    Accept: "*/*",
    "Content-Type": "application/json",
    "Content-Length": String(VERIFY_BODY_BYTES),
    "X-Forwarded-For": "203.0.113.7",
    "X-Forwarded-Proto": "https",
    "X-Request-Id": "0f8fad5bd9cb469fa16570867728950e",
  };
  return [...Object.entries(usual), ...Object.entries(signed)].flat();
}

/** Node's own HMAC with a prepared key, over the signed bytes in one piece, and its digest as text. */
function hmacOnce({ keyBytes, encoding, head }: Subject): () => void {
  const key: KeyObject = createSecretKey(keyBytes);
  const content = Buffer.concat([Buffer.from(head), body()]);
  return () => {
    if (createHmac("sha256", key).update(content).digest(encoding).length === 0) throw new Error("no digest");
  };
}
