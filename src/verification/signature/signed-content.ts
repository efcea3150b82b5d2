import type { Content } from "../config.ts";
import { singleHeader, type Refusal } from "../refusal.ts";
import { latin1, type Segment } from "../template.ts";
import type { SignedRequest } from "../types.ts";
import { findParam, type Claims } from "./claims.ts";
import type { SignatureSettings } from "./settings.ts";

/** Contents of a {@link SignedContent} that are looked at. */
const MAX_CONTENTS = 4;

/** What may have been signed: one content for a template, up to four where a provider's function names them. */
export function signedContents(
  settings: SignatureSettings,
  request: SignedRequest,
  claims: Claims,
): readonly Content[] | Refusal {
  const { contentOf, segments = [] } = settings;
  if (contentOf === undefined) {
    const content = fillTemplate(segments, request, claims);
    return "ok" in content ? content : [content];
  }
  const { items, timestamp, id } = claims;
  const param = (name: string) => {
    const { value, count } = findParam(items, name);
    return count === 1 ? value : undefined;
  };
  const contents = contentOf.contents(request, { timestamp, id, param });
  return "ok" in contents ? contents : contents.slice(0, MAX_CONTENTS);
}

function fillTemplate(segments: readonly Segment[], request: SignedRequest, claims: Claims): Content | Refusal {
  const parts: (string | Buffer)[] = [];
  for (const segment of segments) {
    const part = segment.type === "body" ? request.body : segmentText(segment, request, claims);
    if (typeof part === "object" && "ok" in part) return part;
    parts.push(part);
  }
  return parts;
}

function segmentText(segment: Segment, request: SignedRequest, claims: Claims): string | Refusal {
  switch (segment.type) {
    case "literal":
      return segment.text;
    case "header":
      return singleHeader(request, segment.name, "SignatureMalformed");
    case "timestamp":
      return claims.timestamp ?? "";
    case "id":
      return claims.id ?? "";
    case "url":
      return latin1(request.url);
    default:
      return segment.type === "method" ? request.method : request.path;
  }
}
