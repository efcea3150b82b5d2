import type { ResolvedWebhookRouteSpec } from "../api/defaults.ts";
import { verifierConfig } from "../api/verifier-config.ts";
import { parseDuration } from "../lib/duration.ts";
import { isSigned } from "../verification/verifier.ts";
import type { DedupeSource } from "../verification/presets/preset.ts";
import type { RouteEntry } from "./entry.ts";

type Dedupe = RouteEntry["dedupe"];

/** Earlier windows that are still looked into; marks in older ones have run out, or two edits within a window came together. */
const MAX_EARLIER_WINDOWS = 2;

/** How a route tells a repeated delivery, with the windows of earlier specs for as long as their marks can matter. */
export function compileDedupe(spec: ResolvedWebhookRouteSpec, published: Dedupe | undefined, now: number): Dedupe {
  const sources = compileSources(spec);
  const windowMs = parseDuration(spec.dedupe.window);
  const weakWindowMs = parseDuration(spec.dedupe.weakWindow);
  const { type } = verifierConfig(spec);
  return {
    windowMs,
    weakWindowMs,
    sources,
    disabled: sources.length === 0 && type !== "hmac" && type !== "provider",
    earlierWindows: earlierWindows(sources.length > 0 ? windowMs : weakWindowMs, published, now),
  };
}

function compileSources(spec: ResolvedWebhookRouteSpec): DedupeSource[] {
  const config = verifierConfig(spec);
  const parts = spec.dedupe.keyFrom.map((part) => ({ kind: part.slice(0, part.indexOf(":")), rest: afterColon(part) }));
  const idHeader = parts.find((part) => part.kind === "header")?.rest.toLowerCase();
  return parts.map(({ kind, rest }) => {
    if (kind === "json") return { from: "json", pointer: rest, signed: isSigned(config, "body") };
    const name = rest.toLowerCase();
    return { from: "header", name, signed: isSigned(config, { header: name }, idHeader) };
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
