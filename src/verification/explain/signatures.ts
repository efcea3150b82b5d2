import type { SignatureConfig } from "../config.ts";
import { finding, type Finding } from "./finding.ts";
import { headerVariant, type PlainRequest, type Variant } from "./variants.ts";

/** Digest lengths in bytes. */
const DIGEST_BYTES: Readonly<Record<string, number>> = { md5: 16, sha1: 20, sha256: 32, sha384: 48, sha512: 64 };

/**
 * Ways in which a signature's header arrives changed, or stands elsewhere.
 *
 * @param names lower-case names of the headers in which the scheme looks
 * @param form how the signature is written, where that is data
 */
export function signatureVariants(
  request: PlainRequest,
  names: readonly string[],
  form: SignatureConfig | undefined,
): readonly Variant[] {
  return names.flatMap((name) => {
    const values = request.headers[name] ?? [];
    const [only] = values;
    if (only === undefined) return renamed(request, name, names);
    return values.length > 1 ? repeated(name, values) : [...joined(name, only), ...rewritten(name, only, form)];
  });
}

function repeated(name: string, values: readonly string[]): Variant[] {
  const found = finding("HeaderRepeated", { header: name, times: values.length });
  return [...new Set(values)].slice(0, 8).map((value) => headerVariant(found, name, [value]));
}

/** Several parts joined by commas may be one value (`t=…,v1=…`), so halves are tried rather than items. */
function joined(name: string, value: string): Variant[] {
  const items = value.split(",");
  if (items.length < 2 || items.length > 8) return [];
  const found = finding("HeaderJoined", { header: name });
  return items.slice(1).flatMap((_, index) => {
    const halves = [items.slice(0, index + 1), items.slice(index + 1)];
    return halves.map((half) => headerVariant(found, name, [half.join(",").trim()]));
  });
}

/** The value of every other header, put where the scheme looks. */
function renamed({ headers }: PlainRequest, wanted: string, names: readonly string[]): Variant[] {
  return Object.entries(headers).flatMap(([present, values]) => {
    const [value] = values;
    if (value === undefined || values.length > 1 || value.length < 8 || names.includes(present)) return [];
    return [headerVariant(finding("HeaderRenamed", { present, wanted }), wanted, [value])];
  });
}

type Rewrite = readonly [Finding, (item: string) => string | undefined];

function rewritten(name: string, value: string, form: SignatureConfig | undefined): Variant[] {
  const trimmed = value.replaceAll(/^[\s"']+|[\s"']+$/g, "");
  const variants = trimmed === value ? [] : [headerVariant(finding("SignatureBlanks"), name, [trimmed])];
  if (form === undefined) return variants;
  const { prefix, encoding, separator } = form;
  const changes: readonly Rewrite[] = [...prefixRewrites(form, value), ...encodingRewrites(encoding)];
  for (const [found, change] of changes) {
    const items = (separator === undefined ? [trimmed] : trimmed.split(separator)).map((item) => item.trim());
    const changed = items.map((item) =>
      item.startsWith(prefix) ? prefix + (change(item.slice(prefix.length)) ?? "") : item,
    );
    if (changed.join() !== items.join()) variants.push(headerVariant(found, name, [changed.join(separator ?? "")]));
  }
  return [...variants, ...bare(name, trimmed, form)];
}

/** A signature without the prefix, or with one that the scheme does not have. */
function bare(name: string, value: string, { prefix, separator }: SignatureConfig): Variant[] {
  if (prefix === "" || separator !== undefined || value.startsWith(prefix)) return [];
  return [headerVariant(finding("SignaturePrefixMissing", { prefix }), name, [prefix + value])];
}

function prefixRewrites({ prefix, separator }: SignatureConfig, value: string): Rewrite[] {
  if (prefix !== "" || separator !== undefined) return [];
  const extra = /^(?:[A-Za-z]+\d{0,3}[=,:]|[A-Za-z]+ )/.exec(value)?.[0];
  return extra === undefined
    ? []
    : [[finding("SignaturePrefixExtra", { prefix: extra }), (item) => item.slice(extra.length)]];
}

function encodingRewrites(encoding: SignatureConfig["encoding"]): readonly Rewrite[] {
  if (encoding === "hex") {
    return [
      [finding("SignatureUpperCase"), (item) => item.toLowerCase()],
      [finding("SignatureBase64"), (item) => recoded(item, "base64", "hex")],
    ];
  }
  return [
    [finding("SignatureHex"), (item) => recoded(item, "hex", encoding)],
    [finding("SignatureUnpadded"), (item) => recoded(item, "base64", encoding)],
  ];
}

function recoded(item: string, from: "base64" | "hex", to: BufferEncoding): string | undefined {
  const form = from === "hex" ? /^([0-9a-f]{2})+$/i : /^[A-Za-z0-9+/_-]+={0,2}$/;
  return form.test(item) ? Buffer.from(item, from).toString(to) : undefined;
}

/** What can be seen of the headers without any key. */
export function headerFindings(
  { headers }: PlainRequest,
  names: readonly string[],
  form: (SignatureConfig & { readonly algorithm?: string }) | undefined,
): readonly Finding[] {
  if (form === undefined) return [];
  const wanted = form.header.toLowerCase();
  const values = headers[wanted] ?? [];
  const [value] = values;
  if (value === undefined) return sha1Only(headers, wanted, names);
  if (values.length > 1) return [];
  const items = form.separator === undefined ? [value] : value.split(form.separator);
  const own = items.filter((item) => item.trim().startsWith(form.prefix));
  return own.length === 0 ? otherVersion(wanted, value, form) : cut(own[0] ?? "", form);
}

function sha1Only(headers: PlainRequest["headers"], wanted: string, names: readonly string[]): Finding[] {
  const present = Object.keys(headers).find(
    (name) => !names.includes(name) && (headers[name] ?? []).some((value) => value.startsWith("sha1=")),
  );
  return present === undefined ? [] : [finding("HeaderSha1Only", { present, wanted })];
}

function otherVersion(header: string, value: string, { prefix }: SignatureConfig): Finding[] {
  const versions = [...value.matchAll(/(?:^|[,; ])([a-z][a-z0-9]{0,7})[=,]/gi)].map(([, version]) => version ?? "");
  const found = [...new Set(versions)].filter((version) => !["t", "ts", "time"].includes(version));
  if (found.length === 0) return [];
  if (found.includes("sha1") && prefix.startsWith("sha256")) {
    return [finding("HeaderSha1Only", { present: header, wanted: prefix.replace("=", "") })];
  }
  return [finding("HeaderVersionOnly", { header, found: found.join(", "), wanted: prefix.replace(/[=,]$/, "") })];
}

function cut(
  item: string,
  { prefix, encoding, algorithm }: SignatureConfig & { readonly algorithm?: string },
): Finding[] {
  const bytes = DIGEST_BYTES[algorithm ?? ""];
  if (bytes === undefined) return [];
  const actual = item.trim().slice(prefix.length).replace(/=+$/, "").length;
  const expected = encoding === "hex" ? bytes * 2 : Math.ceil((bytes * 4) / 3);
  return actual > 0 && actual < expected ? [finding("SignatureCut", { actual, expected })] : [];
}
