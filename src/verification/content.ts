import type { Content } from "./config.ts";

/** The parts of a content as one Buffer, for algorithms that take no parts. Text is latin1. */
export function contentBytes(content: Content): Buffer {
  return Buffer.concat(content.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : part)));
}
