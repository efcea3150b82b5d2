import type { Preset } from "../../verification/presets/preset.ts";

/** What a message looks like when the user gives none: of no provider in particular. */
export const PLAIN_SAMPLE: Preset["sample"] = { body: '{"type":"sample.sent","message":"hello"}' };

/** Samples tell the time in steps, so that the same message sent again soon has the same body, as a provider's repetition does. */
const STEP_MS = 600_000;

/** What is put into a sample. */
export interface SampleFacts {
  readonly id: string;
  /** Unix ms. */
  readonly now: number;
}

/**
 * A sample's text with its values in it: `$id`, and the time of ten minutes at most ago as `$now` (Unix seconds), `$nowMs` and `$nowIso`. A time that is
 * signed is put in by the scheme, to the second.
 */
export function fillIn(text: string, { id, now }: SampleFacts): string {
  const at = now - (now % STEP_MS);
  return text
    .replaceAll("$nowMs", String(at))
    .replaceAll("$nowIso", new Date(at).toISOString())
    .replaceAll("$now", String(Math.floor(at / 1_000)))
    .replaceAll("$id", JSON.stringify(id).slice(1, -1));
}
