/** Whether a destination wants events of a type. No patterns: every event. A pattern is exact, or a prefix that ends in `*`. */
export function wantsEventType(patterns: readonly string[], eventType: string | undefined): boolean {
  if (patterns.length === 0) return true;
  if (eventType === undefined) return false;
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? eventType.startsWith(pattern.slice(0, -1)) : pattern === eventType,
  );
}
