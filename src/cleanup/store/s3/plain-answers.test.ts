import { describe, expect, test } from "vitest";
import { plainHead, plainTags } from "./plain-answers.ts";

const HEAD = {
  "last-modified": "Tue, 01 Dec 2026 05:00:00 GMT",
  "x-amz-version-id": "v1",
  "x-amz-tagging-count": "2",
  "x-amz-object-lock-legal-hold": "ON",
  "x-amz-object-lock-mode": "COMPLIANCE",
  "x-amz-object-lock-retain-until-date": "2027-01-01T00:00:00.5Z",
};

test("the headers of a HEAD are read", () => {
  expect(plainHead(HEAD)).toEqual({
    LastModified: new Date(Date.UTC(2026, 11, 1, 5)),
    VersionId: "v1",
    TagCount: 2,
    ObjectLockLegalHoldStatus: "ON",
    ObjectLockMode: "COMPLIANCE",
    ObjectLockRetainUntilDate: new Date(Date.UTC(2027, 0, 1) + 500),
  });
});

test("a header that is not there is left out", () => {
  const { "last-modified": lastModified } = HEAD;
  expect(plainHead({ "last-modified": lastModified })).toEqual({ LastModified: new Date(Date.UTC(2026, 11, 1, 5)) });
});

describe("a header of another form is not guessed at", () => {
  test.each([
    ["last-modified", "2026-12-01T05:00:00Z"],
    ["last-modified", "Tue, 99 Dec 2026 05:00:00 GMT"],
    ["x-amz-version-id", ""],
    ["x-amz-version-id", "v1, v2"],
    ["x-amz-tagging-count", "two"],
    ["x-amz-tagging-count", ""],
    ["x-amz-object-lock-legal-hold", "on"],
    ["x-amz-object-lock-legal-hold", "ON, OFF"],
    ["x-amz-object-lock-mode", ""],
    ["x-amz-object-lock-mode", "Governance"],
    ["x-amz-object-lock-retain-until-date", "Fri, 01 Jan 2027 00:00:00 GMT"],
    ["x-amz-object-lock-retain-until-date", "2027-13-01T00:00:00Z"],
  ])("%s: %s", (name, value) => {
    expect(plainHead({ ...HEAD, [name]: value })).toBeUndefined();
  });
});

const tagging = (tags: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet>${tags}</TagSet></Tagging>`;
const TAG = "<Tag><Key>dispute</Key><Value>open case</Value></Tag>";

test("tags are read, also one without a value", () => {
  expect(plainTags(tagging(`${TAG}<Tag><Key>ü</Key><Value></Value></Tag>`))).toEqual([
    { key: "dispute", value: "open case" },
    { key: "ü", value: "" },
  ]);
  expect(plainTags(`<Tagging><TagSet>${TAG}</TagSet></Tagging>\n`)).toEqual([{ key: "dispute", value: "open case" }]);
});

describe("tags of another form are not guessed at", () => {
  test.each([
    ["none", tagging("")],
    ["an entity", tagging("<Tag><Key>a&amp;b</Key><Value>c</Value></Tag>")],
    ["white space at the end", tagging("<Tag><Key>a </Key><Value>c</Value></Tag>")],
    ["white space between", tagging(`${TAG}\n${TAG}`)],
    ["a line within", tagging("<Tag><Key>a</Key><Value>c\nd</Value></Tag>")],
    ["a comment", tagging(`${TAG}<!-- -->`)],
    ["something unknown among them", tagging(`${TAG}<More/>`)],
    ["the value first", tagging("<Tag><Value>c</Value><Key>a</Key></Tag>")],
    ["a prefix", tagging(TAG).replaceAll("Tagging", "s3:Tagging")],
    ["half of it", tagging(TAG + TAG).slice(0, -20)],
    ["something behind it", `${tagging(TAG)}${tagging(TAG)}`],
    ["what is no text", tagging("<Tag><Key>\uFFFD</Key><Value>c</Value></Tag>")],
    ["an error", "<Error><Code>AccessDenied</Code></Error>"],
    ["nothing", ""],
  ])("%s", (_, xml) => {
    expect(plainTags(xml)).toBeUndefined();
  });
});
