import { isIPv4, isIPv6 } from "node:net";

/** `address/bits` as Go's `net.ParseCIDR` takes it. */
function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(bits)) return false;
  if (isIPv4(address)) return Number(bits) <= 32;
  return isIPv6(address) && !address.includes("%") && Number(bits) <= 128;
}

/** RFC 3339 §5.6 with upper-case T and Z, as Kubernetes writes it; the day must exist, which `Date.parse` does not demand. */
function isDateTime(text: string): boolean {
  const [, date = "", day] = /^(\d{4}-\d{2}-(\d{2}))T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.exec(text) ?? [];
  return !Number.isNaN(Date.parse(text)) && new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
}

/**
 * The formats our CRDs use, as the API server checks them (k8s.io/kube-openapi `strfmt`). Formats it does not know it ignores, so none may be
 * written that is not here.
 */
export const FORMATS = {
  cidr: { type: "string", validate: isCidr },
  "date-time": { type: "string", validate: isDateTime },
  int32: { type: "number", validate: (value: number) => Math.abs(value) < 2 ** 31 },
  int64: { type: "number", validate: (value: number) => Number.isSafeInteger(value) },
} as const;
