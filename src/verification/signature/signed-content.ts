import type { Content } from "../config.ts";
import { singleHeader, type Refusal } from "../refusal.ts";
import { latin1, type Segment } from "../template.ts";
import type { SignedRequest } from "../types.ts";
import { findParam, unclearEnd, type ContentSource } from "./claims.ts";
import type { SignatureSettings } from "./settings.ts";

/** Contents of a {@link SignedContent} that are looked at. */
const MAX_CONTENTS = 4;

/** What may have been signed: one content for a template, up to four where a provider's function names them. */
export function signedContents(
  settings: SignatureSettings,
  request: SignedRequest,
  claims: ContentSource,
): readonly Content[] | Refusal {
  const { contentOf } = settings;
  if (contentOf === undefined) {
    const content = fillTemplate(settings, request, claims);
    return "ok" in content ? content : [content];
  }
  const { values, timestamp, id } = claims;
  const param = (name: string) => findParam(values, settings.separator, `${name}=`);
  const contents = contentOf.contents(request, { timestamp, id, param });
  return "ok" in contents ? contents : contents.slice(0, MAX_CONTENTS);
}

/** Neighbouring pieces of text become one part: an algorithm takes each part on its own. */
function fillTemplate(settings: SignatureSettings, request: SignedRequest, claims: ContentSource): Content | Refusal {
  const parts: (string | Buffer)[] = [];
  let text = "";
  for (const segment of settings.segments ?? []) {
    if (segment.type === "body") {
      if (text !== "") parts.push(text);
      parts.push(request.body);
      text = "";
      continue;
    }
    const piece = segmentText(settings, segment, request, claims);
    if (typeof piece === "object") return piece;
    text += piece;
  }
  if (text !== "") parts.push(text);
  return parts;
}

function segmentText(
  settings: SignatureSettings,
  segment: Segment,
  request: SignedRequest,
  claims: ContentSource,
): string | Refusal {
  switch (segment.type) {
    case "literal":
      return segment.text;
    case "header":
      return headerText(settings, segment, request);
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

function headerText(
  { headerForms }: SignatureSettings,
  segment: Extract<Segment, { type: "header" }>,
  request: SignedRequest,
): string | Refusal {
  const value = singleHeader(request, segment.name, "SignatureMalformed");
  if (typeof value !== "string") return value;
  return headerForms.get(segment)?.test(value) === false ? unclearEnd(segment.name) : value;
}
