import type { Content, SignedContent } from "../../config.ts";
import { refuse } from "../../refusal.ts";
import { latin1 } from "../../template.ts";
import { hasUsualLength } from "../../timestamp.ts";

/** The escapes that HubSpot decodes before it signs: https://developers.hubspot.com/docs/api/webhooks/validating-requests. */
const DECODED = /%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi;

/** A URL with HubSpot's list of escapes decoded, and no others. */
export function hubspotUrl(url: string): string {
  return url.replace(DECODED, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
}

/**
 * Method, URL, body and timestamp, one behind the other. The document says that escapes of a list are decoded in the URL; HubSpot's own library leaves
 * the URL as it is, so both count. The timestamp has no border to the body but its length.
 */
export const hubspotV3Content: SignedContent = {
  contents: ({ method, url, body }, { timestamp = "" }) => {
    if (!hasUsualLength(timestamp, "milliseconds")) {
      return refuse("TimestampMalformed", "x-hubspot-request-timestamp is not 13 digits of Unix milliseconds");
    }
    const urls = new Set([hubspotUrl(url), url]);
    return [...urls].map((one): Content => [method, latin1(one), body, timestamp]);
  },
  url: true,
  description: "METHOD + URL (some escapes decoded) + body + timestamp",
};
