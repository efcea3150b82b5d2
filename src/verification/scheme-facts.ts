import type { SchemeConfig } from "./config.ts";
import { compileTemplate } from "./template.ts";

/** Whether the signature covers the URL that is set up at the sender, so that a route must say it exactly (`publicUrl`). The path alone is no such thing. */
export function signsUrl(scheme: SchemeConfig): boolean {
  if (scheme.type === "custom") return scheme.covers.url === true;
  if (!("signedContent" in scheme)) return false;
  const { signedContent } = scheme;
  if (typeof signedContent !== "string") return signedContent.url === true;
  return compileTemplate(signedContent).some(({ type }) => type === "url");
}

/** Whether the `keyId` of a key is ever looked at. What a provider's own function looks at is not known: it counts as yes. */
export function readsKeyIds(scheme: SchemeConfig): boolean {
  if (scheme.type === "custom") return true;
  return "keyIdHeader" in scheme && scheme.keyIdHeader !== undefined;
}
