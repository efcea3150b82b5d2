import type { SchemeConfig } from "./config.ts";

/** Whether the signature covers the URL that is set up at the sender, so that a route must say it exactly (`publicUrl`). The path alone is no such thing. */
export function signsUrl(scheme: SchemeConfig): boolean {
  if (scheme.type === "custom") return scheme.covers.url === true;
  if (!("signedContent" in scheme)) return false;
  const { signedContent } = scheme;
  return typeof signedContent === "string" ? signedContent.includes("{url}") : signedContent.url === true;
}

/** Whether the `keyId` of a key is ever looked at. What a provider's own function looks at is not known: it counts as yes. */
export function readsKeyIds(scheme: SchemeConfig): boolean {
  if (scheme.type === "custom") return true;
  return "keyIdHeader" in scheme && scheme.keyIdHeader !== undefined;
}
