import { valueAt } from "../../../lib/json-source.ts";
import { isUnicode } from "../../../lib/unicode.ts";
import { refuse, type Refusal } from "../../refusal.ts";

/** Where the signed fields stand in an item, in their order: https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures. */
const FIELDS: readonly (readonly string[])[] = [
  ["pspReference"],
  ["originalReference"],
  ["merchantAccountCode"],
  ["merchantReference"],
  ["amount", "value"],
  ["amount", "currency"],
  ["eventCode"],
  ["success"],
];

/** The one field that a merchant writes as it likes. */
const FREE_FIELD = "merchantReference";

/** An item of a notification. */
export interface AdyenItem {
  readonly fields: unknown;
  /** As sent; `undefined` when there is none. */
  readonly signature: string | undefined;
}

/**
 * The items of a body; `undefined` when it has none or is of another form. Of two fields of one name the last counts, as JSON.parse has it; a destination must
 * read them the same way, since fields are signed and not the body.
 */
export function itemsOf(body: unknown): readonly AdyenItem[] | undefined {
  const list = valueAt(body, ["notificationItems"]);
  if (!Array.isArray(list) || list.length === 0) return undefined;
  return list.map((entry: unknown) => {
    const fields = valueAt(entry, ["NotificationRequestItem"]);
    const signature = valueAt(fields, ["additionalData", "hmacSignature"]);
    return { fields, signature: typeof signature === "string" ? signature : undefined };
  });
}

/**
 * What Adyen signs of an item: eight fields, joined by colons. Adyen's libraries of today join them as they are, older ones put a backslash before `:`
 * and `\`; both count. Only the merchant's reference may hold a colon, else a field could be moved into its neighbour.
 */
export function signedTexts({ fields }: AdyenItem): readonly Buffer[] | Refusal {
  const values: string[] = [];
  for (const path of FIELDS) {
    const text = fieldText(valueAt(fields, path));
    if (text === undefined || (text.includes(":") && path[0] !== FREE_FIELD)) {
      return refuse("SignatureMalformed", `field ${path.join(".")} of an item has no value that Adyen would sign`);
    }
    values.push(text);
  }
  const escaped = values.map((text) => text.replaceAll("\\", "\\\\").replaceAll(":", "\\:"));
  return [...new Set([values.join(":"), escaped.join(":")])].map((text) => Buffer.from(text, "utf8"));
}

/** Numbers beyond 2^53 would be cut by parsing, and text that is no Unicode would be replaced: either way other values had the same signature. */
function fieldText(value: unknown): string | undefined {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return isUnicode(value) ? value : undefined;
  if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === "boolean" ? String(value) : undefined;
}
