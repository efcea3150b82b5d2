import { isUtf8 } from "node:buffer";
import { parseText } from "../../lib/json-source.ts";

/** Most events of one request. */
export const MAX_EVENTS = 500;

/** Why a body is no list of events. */
export type ListFault = "NotJson" | "NotAList" | "NoEvents" | "TooManyEvents";

/** An element of the list: its bytes as the producer wrote them, and what they say. */
export interface Element {
  readonly bytes: Buffer;
  readonly value: unknown;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const BLANK = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Reads a request's body: a JSON array (RFC 8259) of 1 to {@link MAX_EVENTS} values, or `{"events": […]}` and nothing else. Each element keeps its bytes, because
 * what is written anew loses big numbers, the order of keys and with them signatures of the producer.
 */
export function readEnvelopes(body: Buffer): readonly Element[] | ListFault {
  if (!isUtf8(body)) return "NotJson";
  const reader = new ListReader(body);
  const slices = reader.read();
  if (typeof slices === "string") return slices;
  const elements: Element[] = [];
  for (const bytes of slices) {
    const parsed = parseText(bytes.toString("utf8"));
    if (!parsed.ok) return "NotJson";
    elements.push({ bytes, value: parsed.value });
  }
  return elements.length === 0 ? "NoEvents" : elements;
}

/** Finds where elements begin and end. What stands in them is judged when they are parsed, each by itself. */
class ListReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  read(): readonly Buffer[] | ListFault {
    this.#skipBlanks();
    const isWrapped = this.#body[this.#at] === OPEN_OBJECT;
    if (isWrapped && !this.#enterEvents()) return "NotAList";
    if (!this.#take(OPEN_LIST)) return "NotAList";
    const slices = this.#elements();
    if (typeof slices === "string") return slices;
    // Another field beside events would be a field that nobody reads.
    if (isWrapped && !this.#take(CLOSE_OBJECT)) return "NotAList";
    this.#skipBlanks();
    return this.#at === this.#body.length ? slices : "NotJson";
  }

  /** Reads `{"events":`, however it is escaped. */
  #enterEvents(): boolean {
    this.#take(OPEN_OBJECT);
    this.#skipBlanks();
    if (this.#body[this.#at] !== QUOTE) return false;
    const start = this.#at;
    this.#skipString();
    const key = parseText(this.#body.toString("utf8", start, this.#at));
    return key.ok && key.value === "events" && this.#take(COLON);
  }

  #elements(): Buffer[] | ListFault {
    const slices: Buffer[] = [];
    if (this.#take(CLOSE_LIST)) return slices;
    for (;;) {
      const slice = this.#element();
      if (slice === undefined) return "NotJson";
      if (slices.length === MAX_EVENTS) return "TooManyEvents";
      slices.push(slice);
      if (this.#take(CLOSE_LIST)) return slices;
      if (!this.#take(COMMA)) return "NotJson";
    }
  }

  /** Up to the comma or bracket that ends it; `undefined` when neither comes, or nothing stands before it. */
  #element(): Buffer | undefined {
    this.#skipBlanks();
    const start = this.#at;
    let depth = 0;
    let end = start;
    for (; this.#at < this.#body.length; ) {
      const byte = this.#body[this.#at];
      if (depth === 0 && (byte === COMMA || byte === CLOSE_LIST)) break;
      if (byte === QUOTE) this.#skipString();
      else {
        depth += depthChange(byte);
        this.#at += 1;
      }
      if (!isBlank(byte)) end = this.#at;
    }
    return end > start && this.#at < this.#body.length ? this.#body.subarray(start, end) : undefined;
  }

  /** From its quote to behind the closing one, or to the end of the body. */
  #skipString(): void {
    const body = this.#body;
    this.#at += 1;
    while (this.#at < body.length && body[this.#at] !== QUOTE) this.#at += body[this.#at] === BACKSLASH ? 2 : 1;
    this.#at = Math.min(this.#at + 1, body.length);
  }

  #skipBlanks(): void {
    while (isBlank(this.#body[this.#at])) this.#at += 1;
  }

  /** Whether the next byte that is no blank is this one, which is then behind us. */
  #take(byte: number): boolean {
    this.#skipBlanks();
    if (this.#body[this.#at] !== byte) return false;
    this.#at += 1;
    return true;
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === BLANK || byte === LINE_FEED || byte === RETURN || byte === TAB;
}

function depthChange(byte: number | undefined): number {
  if (byte === OPEN_LIST || byte === OPEN_OBJECT) return 1;
  return byte === CLOSE_LIST || byte === CLOSE_OBJECT ? -1 : 0;
}
