import type { Preset } from "../../verification/presets/preset.ts";
import { type FilledSample, fillSample } from "../../verification/sample.ts";

/** What a message looks like when the user gives none: of no provider in particular. */
export const PLAIN_SAMPLE: Preset["sample"] = { body: '{"type":"sample.sent","message":"hello"}' };

/** Samples tell the time in steps, so that the same message sent again soon has the same body, as a provider's repetition does. */
const STEP_MS = 600_000;

/**
 * A sample with the id and a time of at most ten minutes ago in it. A time that is signed is put in by the scheme, to the millisecond.
 *
 * @param facts the delivery's id, and the clock in Unix ms
 */
export function steadySample(
  sample: Preset["sample"],
  facts: { readonly id: string; readonly now: number },
): FilledSample {
  const { id, now } = facts;
  return fillSample(sample, { id: JSON.stringify(id).slice(1, -1), now: now - (now % STEP_MS) });
}
