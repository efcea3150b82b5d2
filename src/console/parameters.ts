import { z } from "zod";

/** Largest and usual number of items of a page. */
const MAX_LIMIT = 500;
const LIMIT = 100;

/** Longest text of a filter, characters. */
const MAX_TEXT = 256;

/**
 * One line of text without control characters; what is wrong with it says `error`.
 * @param max characters of Unicode, as JSON Schema counts them
 */
export function text(error: string, max = MAX_TEXT) {
  return z.string({ error }).regex(new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${max}}$`, "u"), { error });
}

/** A whole number of the query. */
export function numeral(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^(0|[1-9]\d{0,15})$/, { error })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }));
}

/** A whole number of a JSON body. */
export function integer(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

const NOT_A_TIME = "must be a date and time as in RFC 3339: 2026-01-31T12:00:00Z";

/** A point in time; one before 1970 is as good as the beginning of 1970, since nothing is older. @returns Unix ms */
export const time = z.iso.datetime({ offset: true, error: NOT_A_TIME }).transform((value, context) => {
  const ms = Date.parse(value);
  if (!Number.isNaN(ms)) return Math.max(0, ms);
  context.addIssue({ code: "custom", message: NOT_A_TIME });
  return z.NEVER;
});

const NOT_A_NAME = "must be the name of a Kubernetes object: lower-case letters, digits, - and .";
const kubernetesName = z
  .string({ error: NOT_A_NAME })
  .max(253, { error: NOT_A_NAME })
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, { error: NOT_A_NAME });

/** Name of a route. */
export const routeName = kubernetesName;

/** How many items a page has at most. */
export const limit = numeral(1, MAX_LIMIT).default(LIMIT);

/** Position of a list; what a page's `next` says. */
export const cursor = text("must be `next` of the page before", 4_096);

/** What may stand for each name of a path. */
export const PATH_PARAMETERS = {
  namespace: kubernetesName,
  route: kubernetesName,
  event: z.string().regex(/^[0-9A-HJKMNP-TV-Z]{26}$/, { error: "must be the id of an event: 26 characters, a ULID" }),
  destination: text("must be the id of a WebhookDestination: 1 to 128 characters", 256),
  replay: z.string().regex(/^[0-9a-f]{20}$/, { error: "must be the id of a replay: 20 hex digits" }),
} as const satisfies Readonly<Record<string, z.ZodType<string>>>;
