import { crc32, deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { unzipFile } from "./zip.ts";

/** A ZIP archive as a writer makes it: local headers, contents, directory, end record. */
function zip(files: Readonly<Record<string, { text: string; stored?: boolean }>>, comment = ""): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [name, { text, stored = false }] of Object.entries(files)) {
    const bytes = stored ? Buffer.from(text) : deflateRawSync(text);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(stored ? 0 : 8, 4);
    common.writeUInt32LE(crc32(text), 10);
    common.writeUInt32LE(bytes.length, 14);
    common.writeUInt32LE(Buffer.byteLength(text), 18);
    common.writeUInt16LE(name.length, 22);
    common.writeUInt16LE(4, 24);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, Buffer.from(name), Buffer.alloc(4), bytes]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    entries.push(Buffer.concat([Buffer.from("PK\u0001\u0002\0\0"), common, tail, Buffer.from(name), Buffer.alloc(4)]));
    locals.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006");
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...locals, ...entries, end, Buffer.from(comment)]);
}

describe("unzipFile", () => {
  const archive = zip({
    "a/": { text: "", stored: true },
    "a/b": { text: "deflated ".repeat(50) },
    c: { text: "stored", stored: true },
  });

  it("finds a file among others, deflated or stored", () => {
    expect(unzipFile(archive, "a/b").toString()).toBe("deflated ".repeat(50));
    expect(unzipFile(archive, "c").toString()).toBe("stored");
  });

  it("finds the directory before a comment", () => {
    expect(unzipFile(zip({ a: { text: "x" } }, "a comment"), "a").toString()).toBe("x");
  });

  it("says what is missing", () => {
    expect(() => unzipFile(archive, "d")).toThrow("the ZIP archive has no file d");
    expect(() => unzipFile(Buffer.alloc(100), "d")).toThrow("this is no ZIP archive");
  });
});
