import { createHmac } from "node:crypto";
import type { Vector } from "../../support/vectors.ts";
import type { Mutation } from "./mutation.ts";

const HASHES = ["sha256", "sha1", "sha512", "md5"] as const;
const ENCODINGS = ["hex", "base64"] as const;

/** Where a vector has the HMAC of its body, as it stands. */
interface Place {
  readonly header: string;
  readonly value: string;
  readonly digest: string;
  readonly hash: (typeof HASHES)[number];
  readonly encoding: (typeof ENCODINGS)[number];
}

/**
 * Signatures made anew, for schemes that sign the body and nothing else: with keys that anybody knows, with the right key in another form, with other
 * hashes; and right ones over other bodies, which must still be taken.
 */
export function forgeries(vector: Vector): readonly Mutation[] {
  const secret = [vector.secret].flat()[0] ?? "";
  const body = Buffer.from(vector.bodyBase64, "base64");
  const place = findPlace(vector, secret, body);
  if (place === undefined) return [];
  return [
    ...["", " ", "\n", " \t\r\n"].map((blank) => ({
      what: `forged with the key ${JSON.stringify(blank)}`,
      changes: { secret: blank, headers: signed(vector, place, hmac(place, blank, body)) },
    })),
    ...otherKeys(secret).map(([what, key]) => ({
      what: `signed with ${what}`,
      changes: { headers: signed(vector, place, hmac(place, key, body)) },
    })),
    ...HASHES.map((hash) => ({
      what: `signed with ${hash}`,
      changes: { headers: signed(vector, place, hmac({ ...place, hash }, secret, body)) },
    })),
    ...["", "{}", '{"id":1}', "\0\xff", "a=b", " "].map((other) => ({
      what: `another body ${JSON.stringify(other)}, signed`,
      changes: {
        bodyBase64: Buffer.from(other, "latin1").toString("base64"),
        headers: signed(vector, place, hmac(place, secret, Buffer.from(other, "latin1"))),
      },
    })),
  ];
}

function findPlace({ headers }: Vector, secret: string, body: Buffer): Place | undefined {
  for (const [header, value] of Object.entries(headers)) {
    if (typeof value !== "string") continue;
    for (const hash of HASHES) {
      for (const encoding of ENCODINGS) {
        const digest = hmac({ hash, encoding }, secret, body);
        if (value.includes(digest)) return { header, value, digest, hash, encoding };
      }
    }
  }
  return undefined;
}

function hmac({ hash, encoding }: Pick<Place, "hash" | "encoding">, key: string | Buffer, body: Buffer): string {
  return createHmac(hash, key).update(body).digest(encoding);
}

function signed({ headers }: Vector, { header, value, digest }: Place, other: string): Vector["headers"] {
  return { ...headers, [header]: value.replace(digest, other) };
}

function otherKeys(secret: string): readonly (readonly [string, string | Buffer])[] {
  return [
    ["an empty key", ""],
    ["the key in upper case", secret.toUpperCase()],
    ["the key decoded from base64", Buffer.from(secret, "base64")],
    ["the key decoded from hex", Buffer.from(secret, "hex")],
    ["the key in base64", Buffer.from(secret).toString("base64")],
    ["the key and a line end", `${secret}\n`],
  ];
}
