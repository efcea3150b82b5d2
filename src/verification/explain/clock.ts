import type { SignatureConfig } from "../config.ts";
import type { Verdict } from "../types.ts";
import { finding, type Finding } from "./finding.ts";

/** A timestamp in the other unit is off by a factor of a thousand; this far from the clock it is taken for that. */
const A_YEAR_MS = 366 * 86_400_000;

export interface ClockFacts {
  /** Unix ms. */
  readonly now: number;
  readonly toleranceMs: number;
}

/** What is the matter with the time of a request whose signature matches. */
export function clockFinding(
  verdict: Extract<Verdict, { ok: true }>,
  { now, toleranceMs }: ClockFacts,
): Finding | undefined {
  const { signedAt } = verdict;
  if (signedAt === undefined) return undefined;
  if (Math.abs(now - signedAt / 1_000) < A_YEAR_MS) return finding("TimestampMilliseconds");
  if (Math.abs(now - signedAt * 1_000) < A_YEAR_MS) return finding("TimestampSeconds");
  const seconds = Math.round((now - signedAt) / 1_000);
  const code = seconds >= 0 ? "ClockAhead" : "ClockBehind";
  return finding(code, { seconds: Math.abs(seconds), tolerance: toleranceMs / 1_000 });
}

/** A timestamp that can be told to be in the wrong unit by its digits, where it stands in a header of its own or in the signature's. */
export function unitFinding(
  headers: Readonly<Record<string, readonly string[]>>,
  form: SignatureConfig | undefined,
  now: number,
): Finding | undefined {
  const unit = form?.timestamp?.unit;
  if (form === undefined || unit === undefined) return undefined;
  const text = timestampText(headers, form) ?? "";
  if (!/^\d{9,15}$/.test(text)) return undefined;
  const near = (ms: number) => Math.abs(now - ms) < A_YEAR_MS;
  if (unit === "milliseconds") return near(Number(text) * 1_000) ? finding("TimestampSeconds") : undefined;
  return near(Number(text)) ? finding("TimestampMilliseconds") : undefined;
}

function timestampText(
  headers: Readonly<Record<string, readonly string[]>>,
  { header, timestamp, separator }: SignatureConfig,
): string | undefined {
  if (timestamp?.header !== undefined) return headers[timestamp.header.toLowerCase()]?.[0];
  if (timestamp?.param === undefined || separator === undefined) return undefined;
  const start = `${timestamp.param}=`;
  const items = (headers[header.toLowerCase()]?.[0] ?? "").split(separator);
  return items.find((item) => item.startsWith(start))?.slice(start.length);
}
