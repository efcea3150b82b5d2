/** `metav1.MicroTime`: RFC 3339 in UTC with exactly six digits after the point. @param unixMs Unix time, ms */
export function microTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace("Z", "000Z");
}
