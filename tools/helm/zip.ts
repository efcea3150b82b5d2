import { inflateRawSync } from "node:zlib";

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const DEFLATED = 8;

/**
 * Content of one file of a ZIP archive (PKWARE APPNOTE.TXT 4.3; no ZIP64, no encryption: enough for what we unpack).
 *
 * @throws Error when there is no such file, or the archive is none
 */
export function unzipFile(archive: Buffer, name: string): Buffer {
  let at = directoryStart(archive);
  while (archive.readUInt32LE(at) === DIRECTORY_ENTRY) {
    const nameLength = archive.readUInt16LE(at + 28);
    if (archive.toString("utf8", at + 46, at + 46 + nameLength) === name) return content(archive, at);
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  throw new Error(`the ZIP archive has no file ${name}`);
}

/** The end record is the last 22 bytes, followed by nothing but a comment. */
function directoryStart(archive: Buffer): number {
  const least = Math.max(0, archive.length - 22 - 65_535);
  for (let at = archive.length - 22; at >= least; at--) {
    if (archive.readUInt32LE(at) === END_OF_DIRECTORY) return archive.readUInt32LE(at + 16);
  }
  throw new Error("this is no ZIP archive");
}

function content(archive: Buffer, entry: number): Buffer {
  const isDeflated = archive.readUInt16LE(entry + 10) === DEFLATED;
  const size = archive.readUInt32LE(entry + 20);
  const local = archive.readUInt32LE(entry + 42);
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const bytes = archive.subarray(start, start + size);
  return isDeflated ? inflateRawSync(bytes) : bytes;
}
