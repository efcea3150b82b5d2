/** The same JSON, written another way. */
export interface JsonStyle {
  /** For people: `compact`, `with sorted keys and slashes escaped`. */
  readonly how: string;
  readonly text: string;
}

interface Writer {
  readonly how: string;
  readonly write: (text: string) => string;
}

/** How libraries lay JSON out. They get the text of `JSON.stringify(value, null, 1)`, in which line ends are layout only. */
const LAYOUTS: readonly (Writer & { readonly indent: string | number })[] = [
  { how: "compact", indent: 0, write: (text) => text },
  // Python's json.dumps.
  {
    how: "with a blank behind each comma and colon",
    indent: 1,
    write: (text) => text.replaceAll(/,\n\s*/g, ", ").replaceAll(/\n\s*/g, ""),
  },
  { how: "indented by 2", indent: 2, write: (text) => text },
  { how: "indented by 4", indent: 4, write: (text) => text },
  { how: "indented by tabs", indent: "\t", write: (text) => text },
];

/** How libraries write strings. The characters concerned stand in strings only, so the whole text can be rewritten. */
const STRINGS: readonly Writer[] = [
  { how: "", write: (text) => text },
  { how: "unicode escapes (\\uXXXX)", write: escapeUnicode },
  { how: "escaped slashes (\\/)", write: escapeSlashes },
  // PHP's json_encode does both.
  { how: "unicode escapes and escaped slashes", write: (text) => escapeSlashes(escapeUnicode(text)) },
  { how: "<, > and & escaped", write: escapeHtml },
];

/**
 * The ways in which common libraries would have written this JSON, at most 55; likely ones first. Number literals keep their digits.
 *
 * @returns none for a text that is no JSON
 */
export function jsonStyles(text: string): readonly JsonStyle[] {
  const value = parseKeepingNumbers(text);
  if (value === undefined) return [];
  const styles: JsonStyle[] = [
    ...STRINGS.slice(1).map(({ how, write }) => ({ how: `with ${how}`, text: write(text) })),
    { how: "without escapes", text: unescape(text) },
  ];
  for (const sorted of [false, true]) {
    const ordered = sorted ? sortKeys(value.value) : value.value;
    for (const { how, indent, write } of LAYOUTS) {
      const laid = write(JSON.stringify(ordered, undefined, indent));
      for (const strings of STRINGS) {
        const parts = [
          ...(sorted ? ["with sorted keys"] : []),
          how,
          ...(strings.how === "" ? [] : [`with ${strings.how}`]),
        ];
        styles.push({ how: parts.join(", "), text: strings.write(laid) });
      }
    }
  }
  const rounded = JSON.stringify(JSON.parse(text));
  return [...styles, { how: "compact, with numbers written anew", text: rounded }].filter(
    (style) => style.text !== text,
  );
}

/** Numbers as their source text (ECMAScript's `JSON.rawJSON`, in Node since 21): `1.0` stays `1.0`, and no digit is lost. */
function parseKeepingNumbers(text: string): { readonly value: unknown } | undefined {
  const rawJson = Reflect.get(JSON, "rawJSON") as ((source: string) => unknown) | undefined;
  const keep = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === "number" && context?.source !== undefined && rawJson !== undefined
      ? rawJson(context.source)
      : value;
  try {
    return { value: JSON.parse(text, keep) as unknown };
  } catch {
    return undefined;
  }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null || isRawJson(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sortKeys(Reflect.get(value, name))]));
}

function isRawJson(value: object): boolean {
  const test = Reflect.get(JSON, "isRawJSON") as ((value: unknown) => boolean) | undefined;
  return test?.(value) === true;
}

function escapeUnicode(text: string): string {
  return text.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function escapeSlashes(text: string): string {
  return text.replaceAll(/(?<!\\)\//g, "\\/");
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[<>&]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function unescape(text: string): string {
  return text.replaceAll("\\/", "/").replaceAll(/(?<!\\)\\u([0-9a-fA-F]{4})/g, (all, hex: string) => {
    const code = Number.parseInt(hex, 16);
    return code < 0x80 && !"<>&'".includes(String.fromCharCode(code)) ? all : String.fromCharCode(code);
  });
}
