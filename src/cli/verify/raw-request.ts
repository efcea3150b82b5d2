import { CommandError } from "../command.ts";

/** A request as it went over the wire. */
export interface RawRequest {
  readonly method?: string;
  /** Path and query, or a whole URL, as in the request line. */
  readonly target?: string;
  /** By lower-case name, each with all its values. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** `undefined` when the file ends with the headers. */
  readonly body: Buffer | undefined;
}

const REQUEST_LINE = /^([A-Z]+) (\S+) HTTP\/\d(?:\.\d)?$/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:(.*)$/s;

/**
 * Reads a request as tcpdump, a proxy's log or `curl -v` (lines that begin with `> `) shows it: perhaps a request line, headers, an empty line, the body
 * byte for byte. HTTP/1.1 (RFC 9112); a chunked body is put together.
 *
 * @throws CommandError when a line is no header
 */
export function parseRawRequest(file: string, bytes: Buffer): RawRequest {
  const end = headEnd(bytes);
  const lines = bytes
    .subarray(0, end.head)
    .toString("latin1")
    .split(/\r?\n/)
    .map((line) => line.replace(/^> ?/, ""))
    .filter((line) => line !== "");
  const [, method, target] = REQUEST_LINE.exec(lines[0] ?? "") ?? [];
  const headers = readHeaders(method === undefined ? lines : lines.slice(1), (line) => {
    throw new CommandError(
      `-i: ${file}: "${line.slice(0, 20)}…" is no header; write a raw request: headers, an empty line, the body`,
    );
  });
  const body = end.body === undefined ? undefined : bodyOf(bytes.subarray(end.body), headers);
  return { headers, body, ...(method !== undefined && target !== undefined && { method, target }) };
}

function bodyOf(bytes: Buffer, headers: RawRequest["headers"]): Buffer {
  const isChunked = headers["transfer-encoding"]?.some((value) => value.toLowerCase().includes("chunked")) === true;
  return isChunked ? (unchunked(bytes) ?? bytes) : bytes;
}

/**
 * `Name: value` lines as header values.
 * @param invalid called with a line that is none
 */
export function readHeaders(lines: readonly string[], invalid: (line: string) => never): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const line of lines) {
    const [, written, value = ""] = FIELD_LINE.exec(line) ?? [];
    const name = written?.toLowerCase() ?? invalid(line);
    headers[name] = [...(headers[name] ?? []), value.trim()];
  }
  return headers;
}

function headEnd(bytes: Buffer): { readonly head: number; readonly body: number | undefined } {
  for (const blank of ["\r\n\r\n", "\n\n", "\r\n> \r\n", "\n> \n", "\n>\n"]) {
    const at = bytes.indexOf(blank);
    if (at >= 0) return { head: at, body: at + blank.length };
  }
  return { head: bytes.length, body: undefined };
}

/** RFC 9112 §7.1; `undefined` when it is no chunked body (a tool has put it together already). */
function unchunked(bytes: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = /^([0-9a-f]{1,8})(?:;.*)?$/i.exec(bytes.subarray(at, Math.max(at, lineEnd)).toString("latin1"))?.[1];
    if (lineEnd === -1 || size === undefined) return undefined;
    const length = Number.parseInt(size, 16);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
