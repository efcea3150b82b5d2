import { places, type Random, type TextChange } from "./mutation.ts";

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const HEX = /^(?:[0-9a-f]{2})+$/;
const BASE64_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** What a signature, a token or an id may turn into on its way, or in the hands of somebody who tries. */
export function textChanges(text: string, random: Random): readonly TextChange[] {
  return [
    ...flips(text, random),
    ...lengths(text),
    ...blanks(text),
    ...cases(text, random),
    ...prefixes(text),
    ...lists(text),
    ...encodings(text),
  ].filter(([, changed]) => changed !== text);
}

/** One bit of a character. What comes out may be a control character, which no HTTP parser lets through. */
function flips(text: string, random: Random): readonly TextChange[] {
  return places(text.length, 3, random).map((at) => {
    const flipped = String.fromCharCode(text.charCodeAt(at) ^ (1 << random(7)));
    return [`bit of character ${at}`, text.slice(0, at) + flipped + text.slice(at + 1)];
  });
}

function lengths(text: string): readonly TextChange[] {
  return [
    ["empty", ""],
    ["without its last character", text.slice(0, -1)],
    ["without its last two", text.slice(0, -2)],
    ["without its first", text.slice(1)],
    ["first half", text.slice(0, text.length >> 1)],
    ["0 appended", `${text}0`],
    ["00 appended", `${text}00`],
    ["A appended", `${text}A`],
    ["= appended", `${text}=`],
    ["0 before", `0${text}`],
    ["twice", text + text],
    ["non-ASCII appended", `${text}é`],
  ];
}

function blanks(text: string): readonly TextChange[] {
  const middle = text.length >> 1;
  return [
    ["blank", " "],
    ["blank before", ` ${text}`],
    ["blank after", `${text} `],
    ["tab after", `${text}\t`],
    ["line end after", `${text}\n`],
    ["blank inside", `${text.slice(0, middle)} ${text.slice(middle)}`],
    ["tab inside", `${text.slice(0, middle)}\t${text.slice(middle)}`],
    ["in quotes", `"${text}"`],
  ];
}

function cases(text: string, random: Random): readonly TextChange[] {
  const letters = [...text.matchAll(/[A-Za-z]/g)].map(({ index }) => index);
  const at = letters[random(letters.length || 1)];
  return [
    ["upper case", text.toUpperCase()],
    ["lower case", text.toLowerCase()],
    ...(at === undefined ? [] : [[`case of character ${at}`, text.slice(0, at) + swapCase(text, at)] as const]),
  ];
}

function swapCase(text: string, at: number): string {
  const letter = text.charAt(at);
  const swapped = letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase();
  return swapped + text.slice(at + 1);
}

/** Of `sha256=…`, `v0=…`, `t=…,v1=…`, `Bearer …`. */
function prefixes(text: string): readonly TextChange[] {
  const prefix = /^[A-Za-z0-9]{1,8}[=,: ]/.exec(text)?.[0];
  if (prefix === undefined) return [["with a prefix", `sha256=${text}`]];
  const rest = text.slice(prefix.length);
  return [
    ["prefix in upper case", prefix.toUpperCase() + rest],
    ["without its prefix", rest],
    ["prefix twice", prefix + text],
    ["another version", `v9=${rest}`],
    ["sha1 for its prefix", `sha1=${rest}`],
    ["colon for the sign", `${prefix.slice(0, -1)}:${rest}`],
    ["blank after the prefix", `${prefix} ${rest}`],
    ["only the prefix", prefix],
  ];
}

/** As a list: joined with itself as proxies do with repeated headers, and with its own items changed. */
function lists(text: string): readonly TextChange[] {
  const wrong = text.replaceAll(/[0-9]/g, "0");
  const joined: TextChange[] = [
    ["joined with itself", `${text},${text}`],
    ["joined with itself and a blank", `${text}, ${text}`],
    ["joined with another", `${text}, ${wrong}`],
    ["another joined with it", `${wrong}, ${text}`],
    ["comma after", `${text},`],
    ["comma before", `,${text}`],
    ["semicolon after", `${text};`],
    ["twice with a blank", `${text} ${text}`],
  ];
  const separator = [",", ";", " "].find((one) => text.includes(one));
  return separator === undefined ? joined : [...joined, ...items(text, separator)];
}

function items(text: string, separator: string): readonly TextChange[] {
  const parts = text.split(separator);
  const last = parts.at(-1) ?? "";
  const joined = (list: readonly string[]) => list.join(separator);
  return [
    ["items in reverse", joined(parts.toReversed())],
    ["blanks between items", parts.join(`${separator} `)],
    ["unknown item", joined([...parts, "x9=00"])],
    ["item without a sign", joined([...parts, "x"])],
    ["first item twice", joined([parts[0] ?? "", ...parts])],
    ["last item twice", joined([...parts, last])],
    ["a wrong last item more", joined([...parts, last.replaceAll(/[0-9]/g, "0")])],
    ["a wrong last item first", joined([...parts.slice(0, -1), last.replaceAll(/[0-9]/g, "0"), last])],
    ["without its first item", joined(parts.slice(1))],
    ["without its last item", joined(parts.slice(0, -1))],
    ["semicolons", parts.join(";")],
  ];
}

/** The digest after the last sign, written in another way. */
function encodings(text: string): readonly TextChange[] {
  const at = Math.max(text.lastIndexOf(","), text.replace(/=+$/, "").lastIndexOf("=")) + 1;
  const digest = text.slice(at);
  const head = text.slice(0, at);
  if (HEX.test(digest) && digest.length >= 16) return inHex(head, Buffer.from(digest, "hex"));
  return BASE64.test(digest) && digest.length >= 16 ? inBase64(head, digest) : [];
}

function inHex(head: string, bytes: Buffer): readonly TextChange[] {
  return [
    ["digest in base64", head + bytes.toString("base64")],
    ["digest in upper case", head + bytes.toString("hex").toUpperCase()],
    ["0x before the digest", `${head}0x${bytes.toString("hex")}`],
    ["digest of zeros", head + "0".repeat(bytes.length * 2)],
  ];
}

function inBase64(head: string, digest: string): readonly TextChange[] {
  const bytes = Buffer.from(digest, "base64");
  return [
    ["digest in hex", head + bytes.toString("hex")],
    ["digest in base64url", head + bytes.toString("base64url")],
    ["digest without padding", head + digest.replace(/=+$/, "")],
    ["digest with more padding", `${head}${digest}=`],
    ["digest with other bits at its end", head + otherTail(digest)],
    ["line end inside the digest", `${head}${digest.slice(0, 8)}\n${digest.slice(8)}`],
    ["digest of zeros", head + Buffer.alloc(bytes.length).toString("base64")],
    ["digest in double", head + Buffer.from(digest).toString("base64")],
  ];
}

/** The same bytes for a decoder that ignores the bits it does not need. */
function otherTail(digest: string): string {
  const at = digest.replace(/=+$/, "").length - 1;
  if (at === digest.length - 1) return digest;
  const index = BASE64_DIGITS.indexOf(digest.charAt(at));
  return digest.slice(0, at) + BASE64_DIGITS.charAt(index ^ 1) + digest.slice(at + 1);
}
