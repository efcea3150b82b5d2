import { HmacKey } from "../lib/hmac.ts";
import type { DestinationEntry, RingKey } from "../routes/entry.ts";

type SigningConfig = NonNullable<DestinationEntry["signing"]>;

/**
 * Appends signature headers (name, value, …) for one attempt. `now`: Unix ms, fresh at each attempt.
 * @returns whether there was a key to sign with; if not, nothing may be sent
 */
export type Signer = (headers: string[], id: string, body: Buffer, now: number) => boolean;

interface ReadyKey {
  readonly key: HmacKey;
  readonly notAfter: number;
}

/**
 * Prepares the signing of a destination: keys are decoded once, an attempt costs one HMAC a key.
 *
 * `StandardWebhooks` (standardwebhooks.com, `v1`): base64 HMAC-SHA256 over `id.timestamp.body`, all keys separated by a space; secrets after
 * `whsec_` are base64, others are used as they are. `webhook-id` itself is sent with every attempt, signed or not.
 * `Timestamped`: `t=…,v1=…` over `t.body` in hex, one `v1` a key, the Secret's bytes as the key.
 * Keys in use are the current one and previous ones of an overlap that has not ended; the next one is not used before it is current.
 */
export function createSigner(config: SigningConfig): Signer {
  const keys = readyKeys(config);
  return isStandard(config) ? standardSigner(keys) : timestampedSigner(keys, config.header);
}

/**
 * Until when a destination's messages can be signed, Unix ms: the end of the key that lasts longest, `Infinity` where one has no end or nothing is to be
 * signed, `-Infinity` where no key can be used.
 */
export function signableUntil(config: SigningConfig | undefined): number {
  if (config === undefined) return Infinity;
  return Math.max(...usableKeys(config).map(({ notAfter }) => notAfter));
}

function readyKeys(config: SigningConfig): readonly ReadyKey[] {
  return usableKeys(config).map(({ secret, notAfter }) => ({ key: new HmacKey("sha256", secret), notAfter }));
}

/** An HMAC with an empty key is one that anybody can compute: such a key is none. */
function usableKeys(config: SigningConfig): readonly { readonly secret: Buffer; readonly notAfter: number }[] {
  return config.keys.flatMap((key) => {
    const secret = isStandard(config) ? standardSecret(key) : secretBytes(key);
    if (key.state === "next" || secret.length === 0) return [];
    return [{ secret, notAfter: key.notAfter ?? Infinity }];
  });
}

function isStandard({ scheme }: SigningConfig): boolean {
  return scheme === "StandardWebhooks";
}

function standardSigner(keys: readonly ReadyKey[]): Signer {
  return (headers, id, body, now) => {
    const seconds = Math.floor(now / 1_000);
    const content = `${id}.${seconds}.`;
    let signatures = "";
    for (const { key, notAfter } of keys) {
      if (now > notAfter) continue;
      const mac = key.digestText([content, body], "base64");
      signatures += signatures === "" ? `v1,${mac}` : ` v1,${mac}`;
    }
    if (signatures === "") return false;
    headers.push("webhook-timestamp", String(seconds), "webhook-signature", signatures);
    return true;
  };
}

function timestampedSigner(keys: readonly ReadyKey[], header: string): Signer {
  return (headers, _id, body, now) => {
    const seconds = Math.floor(now / 1_000);
    let signatures = "";
    for (const { key, notAfter } of keys) {
      if (now > notAfter) continue;
      signatures += `,v1=${key.digestText([`${seconds}.`, body], "hex")}`;
    }
    if (signatures === "") return false;
    headers.push(header, `t=${seconds}${signatures}`);
    return true;
  };
}

function secretBytes(key: RingKey): Buffer {
  return Buffer.from(key.value, "base64");
}

/** Some dashboards show the secret with its version in front (`v1,whsec_…`). */
function standardSecret(key: RingKey): Buffer {
  const bytes = secretBytes(key);
  const match = /^(?:v1,)?whsec_([A-Za-z0-9+/_-]+={0,2})$/.exec(bytes.toString("latin1"));
  return match?.[1] === undefined ? bytes : Buffer.from(match[1], "base64");
}
