import type { Preset } from "./presets/preset.ts";

/** A sample request with everything filled in. Header names are in lower case. */
export interface FilledSample {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Fills in a preset's sample, body and headers: `$id` the event's id, `$now` Unix seconds, `$nowMs` Unix milliseconds, `$nowIso` RFC 3339 in UTC.
 *
 * @param now Unix ms
 */
export function fillSample(
  sample: Preset["sample"],
  { id, now }: { readonly id: string; readonly now: number },
): FilledSample {
  const values: Readonly<Record<string, string>> = {
    $id: id,
    $now: String(Math.floor(now / 1_000)),
    $nowMs: String(now),
    $nowIso: new Date(now).toISOString(),
  };
  const fill = (text: string) => text.replaceAll(/\$(?:id|now(?:Ms|Iso)?)\b/g, (name) => values[name] ?? name);
  const headers = Object.entries(sample.headers ?? {}).map(([name, value]) => [name, fill(value)] as const);
  return { body: Buffer.from(fill(sample.body), "utf8"), headers: Object.fromEntries(headers) };
}
