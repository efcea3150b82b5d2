/** Replaces credentials in URLs, the one secret that error texts and responses are known to repeat. */
export function redact(text: string): string {
  return text.includes("@") ? text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/gi, "$1[redacted]@") : text;
}
