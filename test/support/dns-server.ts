import { createSocket, type Socket } from "node:dgram";

/** What a name has: an alias, none, or a server that fails. */
export type DnsAnswer = { readonly alias: string } | "none" | "failure";

/** A DNS server on loopback (RFC 1035) that answers questions for CNAME records. */
export class DnsServer {
  readonly asked: string[] = [];
  readonly #answers: Readonly<Record<string, DnsAnswer>>;
  readonly #socket: Socket = createSocket("udp4");

  constructor(answers: Readonly<Record<string, DnsAnswer>>) {
    this.#answers = answers;
    this.#socket.on("message", (query, { port, address }) => this.#socket.send(this.#answer(query), port, address));
  }

  /** @returns `HOST:PORT` */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#socket.bind(0, "127.0.0.1", resolve));
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  stop(): void {
    this.#socket.close();
  }

  #answer(query: Buffer): Buffer {
    const { name, end } = readName(query);
    this.asked.push(name);
    const answer = this.#answers[name];
    const record = typeof answer === "object" ? cname(answer.alias) : Buffer.alloc(0);
    const header = Buffer.from(query.subarray(0, 12));
    // Response, recursion available; 2 is SERVFAIL, 3 NXDOMAIN.
    header.writeUInt16BE(0x8180 | (answer === "failure" ? 2 : answer === undefined ? 3 : 0), 2);
    header.writeUInt16BE(record.length > 0 ? 1 : 0, 6);
    header.writeUInt32BE(0, 8);
    return Buffer.concat([header, query.subarray(12, end + 4), record]);
  }
}

/** The name in the question, and where it ends. */
function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

/** A CNAME record for the name of the question, good for 30 s. */
function cname(alias: string): Buffer {
  const data = Buffer.concat([
    ...alias.split(".").map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, "latin1")),
    Buffer.from([0]),
  ]);
  const head = Buffer.from([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 30, 0, data.length]);
  return Buffer.concat([head, data]);
}
