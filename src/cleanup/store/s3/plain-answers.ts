import type { HeadObjectCommandOutput, ObjectLockMode } from "@aws-sdk/client-s3";
import type { ObjectTag } from "../port.ts";

/** By name in lower case. */
export type PlainHeaders = Readonly<Record<string, string | undefined>>;

/** IMF-fixdate (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const ISO_DATE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/;

interface Form {
  readonly pattern: RegExp;
  readonly isDate?: true;
}

/** Headers of a HEAD that something is concluded from, and the only forms that are taken. */
const FORMS: Readonly<Record<string, Form>> = {
  "last-modified": { pattern: HTTP_DATE, isDate: true },
  "x-amz-version-id": { pattern: /^[^\s,]+$/ },
  "x-amz-tagging-count": { pattern: /^\d{1,4}$/ },
  "x-amz-object-lock-legal-hold": { pattern: /^(ON|OFF)$/ },
  "x-amz-object-lock-mode": { pattern: /^(GOVERNANCE|COMPLIANCE)$/ },
  "x-amz-object-lock-retain-until-date": { pattern: ISO_DATE, isDate: true },
};

/** What the SDK makes of the headers of a HEAD; `undefined`: one has not its usual form, and the SDK is to read it. */
export function plainHead(headers: PlainHeaders): Partial<HeadObjectCommandOutput> | undefined {
  for (const [name, { pattern, isDate }] of Object.entries(FORMS)) {
    const value = headers[name];
    if (value === undefined) continue;
    if (!pattern.test(value) || (isDate && Number.isNaN(Date.parse(value)))) return undefined;
  }
  const dateOf = (name: string) => (headers[name] === undefined ? undefined : new Date(headers[name]));
  const tagCount = headers["x-amz-tagging-count"];
  return {
    LastModified: dateOf("last-modified"),
    VersionId: headers["x-amz-version-id"],
    ...(tagCount !== undefined && { TagCount: Number(tagCount) }),
    ObjectLockLegalHoldStatus: headers["x-amz-object-lock-legal-hold"] as "ON" | "OFF" | undefined,
    ObjectLockMode: headers["x-amz-object-lock-mode"] as ObjectLockMode | undefined,
    ObjectLockRetainUntilDate: dateOf("x-amz-object-lock-retain-until-date"),
  };
}

/** No entities, and no white space that a reader of XML may change. */
const TEXT = String.raw`[^<>&\s](?:[^<>&\r\n\t]*[^<>&\s])?`;
const TAG = `<Tag><Key>(${TEXT})</Key><Value>(${TEXT})?</Value></Tag>`;
const TAGGING = new RegExp(
  String.raw`^(?:<\?xml version="1\.0" encoding="UTF-8"\?>\n?)?<Tagging(?: xmlns="[^"<>&]*")?><TagSet>((?:${TAG})+)</TagSet></Tagging>\n?$`,
);

/** The tags of an answer that says nothing else; `undefined`: it has another form, or no tag, and the SDK is to read it. */
export function plainTags(xml: string): readonly ObjectTag[] | undefined {
  const tags = TAGGING.exec(xml)?.[1];
  if (tags === undefined || xml.includes("\uFFFD")) return undefined;
  return Array.from(tags.matchAll(new RegExp(TAG, "g")), ([, key = "", value = ""]) => ({ key, value }));
}
