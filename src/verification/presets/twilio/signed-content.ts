import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { Content, SignedContent } from "../../config.ts";
import { refuse, type Refusal } from "../../refusal.ts";
import { latin1 } from "../../template.ts";
import type { SignedRequest } from "../../types.ts";

const FORM = /^application\/x-www-form-urlencoded[ \t]*(;|$)/i;
const SHA256_HEX = /^[0-9a-f]{64}$/;

/**
 * What Twilio signs (https://www.twilio.com/docs/usage/webhooks/webhooks-security): the URL as it was requested, and behind it the names and values of the
 * form, sorted by name. Any other body is covered by its SHA-256 in the query, as `bodySHA256`. Twilio is not consistent about writing the default port,
 * so both URLs count, as in its libraries. Names and values stand behind each other without a border: `a=bc` and `ab=c` have one signature.
 */
export const twilioContent: SignedContent = {
  contents: (request) => {
    const rest = signedRest(request);
    if ("ok" in rest) return rest;
    return urlForms(request.url).map((url): Content => [latin1(url), ...rest]);
  },
  url: true,
  blursBody: true,
  description: "URL + sorted form fields, or URL with bodySHA256",
};

/** What stands behind the URL, once it is certain that the body is covered. */
function signedRest(request: SignedRequest): Content | Refusal {
  const hashes = bodyHashes(request.url);
  if (hashes.length > 1) return refuse("SignatureMalformed", `the URL has bodySHA256 ${hashes.length} times`);
  const [claimed] = hashes;
  if (claimed !== undefined) return coveredByHash(request.body, claimed) ?? [];
  if (request.body.length === 0) return [];
  const types = request.header("content-type");
  if (types.length === 1 && FORM.test(types[0] ?? "")) return formContent(request.body);
  return refuse(
    "SignatureMismatch",
    "the body is no form and the URL has no bodySHA256, so that nothing covers it; was the query lost on the way?",
  );
}

function coveredByHash(body: Buffer, claimed: string): Refusal | undefined {
  if (!SHA256_HEX.test(claimed)) return refuse("SignatureMalformed", "bodySHA256 in the URL is not SHA-256 in hex");
  // Both are public: the sender's claim and what anybody can compute.
  if (claimed === hash("sha256", body)) return undefined;
  return refuse("SignatureMismatch", "bodySHA256 in the URL is not the hash of the raw body");
}

/** The values of `bodySHA256` in the query, as written. */
function bodyHashes(url: string): readonly string[] {
  const query = /\?([^#]*)/.exec(url)?.[1] ?? "";
  return query.split("&").flatMap((pair) => (pair.startsWith("bodySHA256=") ? [pair.slice(11)] : []));
}

/** Most fields of a form. Twilio sends some ten; sorting tens of thousands takes 100 ms, and anybody may send them. */
const MAX_FIELDS = 1_000;

/** Names and values of a form, each value of a name once, both in order of their UTF-16 code units. */
function formContent(body: Buffer): Content | Refusal {
  if (!isDecodable(body)) return refuse("SignatureMismatch", "the form is not UTF-8, which Twilio always sends");
  if (hasMore(body, "&", MAX_FIELDS)) return refuse("SignatureMismatch", `the form has more than ${MAX_FIELDS} fields`);
  const fields = new Map<string, Set<string>>();
  for (const [name, value] of new URLSearchParams(body.toString("utf8"))) {
    fields.set(name, (fields.get(name) ?? new Set()).add(value));
  }
  const names = [...fields.keys()].toSorted();
  const parts = names.flatMap((name) => [...(fields.get(name) ?? [])].toSorted().map((value) => name + value));
  return [Buffer.from(parts.join(""), "utf8")];
}

/** Whether a byte stands there at least so many times. */
function hasMore(body: Buffer, byte: string, times: number): boolean {
  let at = body.indexOf(byte);
  for (let found = 1; at !== -1 && found < times; found++) at = body.indexOf(byte, at + 1);
  return at !== -1;
}

/** Whether text and escapes are UTF-8. What a parser would repair could be the repair of many bodies. */
function isDecodable(body: Buffer): boolean {
  if (!isUtf8(body)) return false;
  try {
    decodeURIComponent(body.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

/** The URL with and without its port. Nothing else of it is touched: a URL parser would write it anew. */
function urlForms(url: string): readonly string[] {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return [url];
  const bare = authority.replace(/:\d+$/, "");
  const withPort = bare === authority ? `${authority}:${scheme === "https" ? 443 : 80}` : authority;
  return [`${scheme}://${bare}${rest}`, `${scheme}://${withPort}${rest}`];
}
