import type { ResolvedWebhookRouteSpec } from "../api/defaults.ts";
import { verifierConfig } from "../api/verifier-config.ts";
import { parseDuration } from "../lib/duration.ts";
import { isSigned } from "../verification/verifier.ts";
import type { DedupeSource, Preset } from "../verification/presets/preset.ts";
import type { RouteEntry } from "./entry.ts";

type Dedupe = RouteEntry["dedupe"];

/** Earlier windows that are still looked into; marks in older ones have run out, or two edits within a window came together. */
const MAX_EARLIER_WINDOWS = 2;

/**
 * How a route tells a repeated delivery, with the windows of earlier specs for as long as their marks can matter.
 *
 * @param preset the one that `verification.provider` names: its parts of the id hold as they are, unless `keyFrom` was written out
 */
export function compileDedupe(
  spec: ResolvedWebhookRouteSpec,
  preset: Preset | undefined,
  published: Dedupe | undefined,
  now: number,
): Dedupe {
  const { withoutId } = spec.dedupe;
  const sources = withoutId === "Refuse" ? compileSources(spec) : (preset?.dedupe ?? []);
  const windowMs = parseDuration(spec.dedupe.window);
  const weakWindowMs = parseDuration(spec.dedupe.weakWindow);
  return {
    windowMs,
    weakWindowMs,
    sources,
    disabled: sources.length === 0 && withoutId === "None",
    earlierWindows: earlierWindows(sources.length > 0 ? windowMs : weakWindowMs, published, now),
    withoutId,
    ...(preset && bodyOf(preset, withoutId)),
  };
}

/** What of the body counts goes by the provider; whether an id is one of an event, by who chose the id. */
function bodyOf({ bodyExcept, idWithBody }: Preset, withoutId: Dedupe["withoutId"]): Partial<Dedupe> {
  return {
    ...(bodyExcept && { bodyExcept }),
    ...(idWithBody === true && withoutId !== "Refuse" && { idWithBody }),
  };
}

function compileSources(spec: ResolvedWebhookRouteSpec): DedupeSource[] {
  const config = verifierConfig(spec);
  const parts = spec.dedupe.keyFrom.map((part) => ({ kind: part.slice(0, part.indexOf(":")), rest: afterColon(part) }));
  const idHeader = parts.find((part) => part.kind === "header")?.rest.toLowerCase();
  const options = {
    ...(idHeader !== undefined && { idHeader }),
    ...(spec.verification.parameters && { parameters: spec.verification.parameters }),
  };
  const isBodySigned = isSigned(config, "body", options);
  return parts.map(({ kind, rest }) => {
    if (kind === "json") return { from: "json", pointer: rest, signed: isBodySigned };
    if (kind === "form") return { from: "form", name: rest, signed: isBodySigned };
    const name = rest.toLowerCase();
    return { from: "header", name, signed: isSigned(config, { header: name }, options) };
  });
}

function afterColon(text: string): string {
  return text.slice(text.indexOf(":") + 1);
}

/**
 * A window that was edited away is looked into until the new one has passed since the edit: by then every mark that the new window would
 * still honour was made under it. Where deliveries have no id, it is the weak key's window that counts.
 */
function earlierWindows(currentMs: number, published: Dedupe | undefined, now: number): Dedupe["earlierWindows"] {
  if (published === undefined) return [];
  const publishedMs = published.sources.length > 0 ? published.windowMs : published.weakWindowMs;
  const live = [{ windowMs: publishedMs, until: now + currentMs }, ...published.earlierWindows].filter(
    ({ windowMs, until }, index, all) =>
      until > now && windowMs !== currentMs && all.findIndex((other) => other.windowMs === windowMs) === index,
  );
  return live.toSorted((a, b) => b.until - a.until).slice(0, MAX_EARLIER_WINDOWS);
}
