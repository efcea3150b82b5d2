import { equals } from "../../../lib/equals.ts";
import { decodeDigest, encodeDigest } from "../../encoding.ts";
import { hmacKeyOf } from "../../hmac-keys.ts";
import { keyRingCache, usableAt } from "../../keys.ts";
import { NO_USABLE_KEY, refuse } from "../../refusal.ts";
import { signerOf } from "../../signer.ts";
import type { Verifier } from "../../types.ts";

/** White space of JSON (RFC 8259 §2) and no other: what no parser takes would be a body without an id. */
const BEFORE = /^[ \t\r\n]*\{[ \t\r\n]*"Content"[ \t\r\n]*:[ \t\r\n]*/;
const AFTER = /[ \t\r\n]*,[ \t\r\n]*"HashCode"[ \t\r\n]*:[ \t\r\n]*"([^"\\]{1,200})"[ \t\r\n]*\}[ \t\r\n]*$/;

/** A body taken apart. */
interface Parts {
  /** The text of `Content` as it was sent, latin1: one character a byte. */
  readonly content: string;
  readonly hashCode: string;
}

/**
 * Exact Online: the body is `{"Content":…,"HashCode":"…"}`, and the code is the HMAC-SHA256 of the text of `Content`, in upper-case hex. The text is taken as
 * it was sent: written anew by a parser it could be another.
 */
export function exactOnlineScheme(): Verifier {
  const ring = keyRingCache((secret) => hmacKeyOf("sha256", secret));
  return {
    secretHeaders: [],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const parts = takeApart(request.body);
      if (!parts) return refuse("SignatureMissing", "the body is not an object of Content and, after it, HashCode");
      const signature = decodeDigest(parts.hashCode, "hex", 32);
      if (!signature) return refuse("SignatureMalformed", "HashCode in the body is not 32 bytes in hex");
      for (const { key, material } of usable) {
        const digest = material.digest([parts.content]);
        if (!equals(signature, digest)) continue;
        // White space around Content is not covered, so that the signature is good for one body.
        const canonical = encodeDigest(digest, "hex");
        return { ok: true, key, signature: canonical, nonce: canonical };
      }
      return refuse(
        "SignatureMismatch",
        `HashCode in the body matches none of ${usable.length} key(s) over the text of Content`,
      );
    },
    sign(input, keys, now) {
      const { material } = signerOf(ring(keys), now);
      const text = input.body.toString("latin1");
      const content = BEFORE.test(text) ? text.replace(BEFORE, "").replace(/[ \t\r\n]*\}[ \t\r\n]*$/, "") : text;
      const hashCode = encodeDigest(material.digest([content]), "hex").toUpperCase();
      const body = Buffer.from(`{"Content":${content},"HashCode":"${hashCode}"}`, "latin1");
      return { headers: { ...input.headers }, body };
    },
  };
}

function takeApart(body: Buffer): Parts | undefined {
  const text = body.toString("latin1");
  const before = BEFORE.exec(text);
  const after = AFTER.exec(text.slice(-512));
  if (!before || !after) return undefined;
  const [tail = "", hashCode = ""] = after;
  const content = text.slice(before[0].length, text.length - tail.length);
  return { content, hashCode };
}
