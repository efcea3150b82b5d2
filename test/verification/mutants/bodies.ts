import type { Vector } from "../../support/vectors.ts";
import { places, type Mutation, type Random } from "./mutation.ts";

/** The body changed by bits, bytes and by what frameworks do to it. */
export function bodyMutations(vector: Vector, random: Random): readonly Mutation[] {
  const body = Buffer.from(vector.bodyBase64, "base64");
  const bodies: readonly (readonly [string, Buffer])[] = [
    ...flips(body, random),
    ...ends(body),
    ...encodings(body),
    ...json(body),
    ...form(body),
  ];
  return bodies
    .filter(([, changed]) => !changed.equals(body))
    .map(([what, changed]) => ({ what: `body: ${what}`, changes: { bodyBase64: changed.toString("base64") } }));
}

type BodyChange = readonly [what: string, body: Buffer];

function flips(body: Buffer, random: Random): readonly BodyChange[] {
  return [...places(body.length, 5, random), ...insideStrings(body, random)].map((at) => {
    const bit = random(8);
    const flipped = Buffer.from(body);
    flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at);
    return [`bit ${bit} of byte ${at}`, flipped];
  });
}

/** Places inside strings of JSON, where a changed bit leaves it JSON. */
function insideStrings(body: Buffer, random: Random): readonly number[] {
  const strings = [...body.toString("latin1").matchAll(/"([^"\\]{2,})"/g)];
  return Array.from({ length: Math.min(4, strings.length) }, () => {
    const found = strings[random(strings.length)];
    return (found?.index ?? 0) + 1 + random(found?.[1]?.length ?? 1);
  });
}

function ends(body: Buffer): readonly BodyChange[] {
  const put = (before: string, after: string) =>
    Buffer.concat([Buffer.from(before, "latin1"), body, Buffer.from(after, "latin1")]);
  return [
    ["line end after", put("", "\n")],
    ["CR LF after", put("", "\r\n")],
    ["blank after", put("", " ")],
    ["blank before", put(" ", "")],
    ["byte order mark", put("\xef\xbb\xbf", "")],
    ["NUL after", put("", "\0")],
    ["without its last byte", body.subarray(0, -1)],
    ["without its first byte", body.subarray(1)],
    ["empty", Buffer.alloc(0)],
    ["twice", Buffer.concat([body, body])],
    ["{}", Buffer.from("{}")],
    ["[]", Buffer.from("[]")],
    ["null", Buffer.from("null")],
    ["a byte that is not UTF-8 after", put("", "\xff")],
  ];
}

function encodings(body: Buffer): readonly BodyChange[] {
  return [
    ["in base64", Buffer.from(body.toString("base64"))],
    ["percent-encoded", Buffer.from(encodeURIComponent(body.toString("latin1")))],
    ["as latin1 read as UTF-8", Buffer.from(body.toString("latin1"), "utf8")],
    ["CR LF for LF", Buffer.from(body.toString("latin1").replaceAll("\n", "\r\n"), "latin1")],
  ];
}

function json(body: Buffer): readonly BodyChange[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return [];
  }
  const text = body.toString("utf8");
  return [
    ["written anew", Buffer.from(JSON.stringify(value))],
    ["written anew with blanks", Buffer.from(JSON.stringify(value, undefined, 2))],
    ["as Python writes it", Buffer.from(pythonStyle(text))],
    ["in reverse order", Buffer.from(JSON.stringify(reversed(value)))],
    ["with escaped slashes", Buffer.from(text.replaceAll("/", String.raw`\/`))],
    ["with escaped letters", Buffer.from(text.replaceAll(/[^\0-\x7f]/g, escape))],
    ["with an escaped letter", Buffer.from(text.replace(/(?<=")[a-z](?=[a-zA-Z]*")/, escape))],
    ["in a list", Buffer.from(`[${text}]`)],
    ...(isObject(value) ? withMembers(text, value) : []),
  ];
}

function escape(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function pythonStyle(text: string): string {
  return text.replaceAll(/(?<=["\d\]}])([,:])(?=["\d[{tfn-])/g, "$1 ");
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.toReversed();
  return isObject(value) ? Object.fromEntries(Object.entries(value).toReversed()) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member more, and the first one twice, with the other value first and last: readers disagree on which one counts. */
function withMembers(text: string, value: Record<string, unknown>): readonly BodyChange[] {
  const [first] = Object.entries(value);
  if (first === undefined) return [];
  const [name, old] = first;
  const member = `${JSON.stringify(name)}:${JSON.stringify(old)}`;
  return [
    ["with a member more", Buffer.from(text.replace("{", '{"davit":1,'))],
    ["first member twice", Buffer.from(text.replace("{", () => `{${member},`))],
    ["first member null before", Buffer.from(text.replace("{", () => `{${JSON.stringify(name)}:null,`))],
    ["first member null after", Buffer.from(text.replace(/\}\s*$/, () => `,${JSON.stringify(name)}:null}`))],
  ];
}

/** A form says the same in many ways, and some schemes sign what it says. */
function form(body: Buffer): readonly BodyChange[] {
  const text = body.toString("latin1");
  if (!/^[\w.%+-]+=[^{]*$/.test(text)) return [];
  const pairs = text.split("&");
  const joined = (list: readonly string[]) => Buffer.from(list.join("&"), "latin1");
  return [
    ["fields in reverse", joined(pairs.toReversed())],
    ["first field twice", joined([...pairs, pairs[0] ?? ""])],
    ["a field more", joined([...pairs, "Davit=1"])],
    ["an empty field more", joined([...pairs, "Davit="])],
    ["a field without a value more", joined([...pairs, "Davit"])],
    ["without its last field", joined(pairs.slice(0, -1))],
    ["a value moved into the name before it", Buffer.from(text.replace("=", "%3D="), "latin1")],
    [
      "escapes in lower case",
      Buffer.from(
        text.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase()),
        "latin1",
      ),
    ],
    ["a letter escaped", Buffer.from(text.replace(/[a-z](?==)/, (one) => `%${one.charCodeAt(0).toString(16)}`))],
    ["blanks as %20", Buffer.from(text.replaceAll("+", "%20"), "latin1")],
    ["plus unescaped", Buffer.from(text.replaceAll("%2B", "+"), "latin1")],
    ["& after", joined([...pairs, ""])],
    ["separated by ;", Buffer.from(pairs.join(";"), "latin1")],
  ];
}
