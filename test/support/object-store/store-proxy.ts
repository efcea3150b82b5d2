import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  request as httpRequest,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Identity } from "../certificates.ts";

/** A request of the store, as it passes. */
export interface ProxiedRequest {
  readonly method: string;
  /** With its query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ProxiedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A proxy in front of an object store, which can say something else than the store. */
export interface StoreProxy {
  readonly endpoint: string;
  /** All that passed, the oldest first. */
  readonly requests: ProxiedRequest[];
  /** Answers in the store's place, which does not hear of the request; `hang`: nobody ever does. */
  instead: (request: ProxiedRequest) => ProxiedAnswer | "hang" | undefined;
  /** Changes what the store answered; `stall`: half of the body, and then nothing. */
  change: (answer: ProxiedAnswer, request: ProxiedRequest) => ProxiedAnswer | "stall";
  stop(): Promise<void>;
}

/** Starts one in front of `http://127.0.0.1:PORT`, with TLS when it has a certificate. */
export async function startStoreProxy(target: string, identity?: Identity): Promise<StoreProxy> {
  const proxy = {
    requests: [] as ProxiedRequest[],
    instead: (() => undefined) as StoreProxy["instead"],
    change: ((answer) => answer) as StoreProxy["change"],
  };
  const listener: RequestListener = (incoming, outgoing) => {
    const serve = async () => {
      const { method = "GET", url = "/", headers } = incoming;
      const request = { method, url, headers, body: await textOf(incoming) };
      proxy.requests.push(request);
      const own = proxy.instead(request);
      if (own === "hang") return;
      const theirs = own ?? (await forward(target, request));
      const answer = own ?? proxy.change(theirs, request);
      if (answer === "stall") {
        outgoing.writeHead(theirs.status, { "content-length": String(Buffer.byteLength(theirs.body)) });
        outgoing.write(theirs.body.slice(0, theirs.body.length / 2));
        return;
      }
      const hasBody = method !== "HEAD" && answer.status !== 204;
      const length = hasBody ? { "content-length": String(Buffer.byteLength(answer.body)) } : {};
      outgoing.writeHead(answer.status, { ...answer.headers, ...length }).end(hasBody ? answer.body : undefined);
    };
    serve().catch(() => outgoing.destroy());
  };
  const tls = identity && { cert: identity.certificate, key: identity.key };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(proxy, {
    endpoint: `http${tls ? "s" : ""}://127.0.0.1:${port}`,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  });
}

/** The Host stays as it was sent: it is signed. */
function forward(target: string, { method, url, headers, body }: ProxiedRequest): Promise<ProxiedAnswer> {
  return new Promise((resolve, reject) => {
    const { connection: _connection, "transfer-encoding": _encoding, ...rest } = headers;
    const onward = { ...rest, "content-length": String(Buffer.byteLength(body, "latin1")) };
    const sent = httpRequest(target + url, { method, headers: onward, agent: false }, (answer) => {
      resolve(answerOf(answer));
    });
    sent.once("error", reject);
    sent.end(body, "latin1");
  });
}

async function answerOf(answer: IncomingMessage): Promise<ProxiedAnswer> {
  const kept = Object.entries(answer.headers).filter(([name]) => !HOP.has(name));
  const headers = Object.fromEntries(kept) as Record<string, string>;
  return { status: answer.statusCode ?? 0, headers, body: await textOf(answer, "utf8") };
}

const HOP = new Set(["content-length", "transfer-encoding", "connection", "keep-alive"]);

async function textOf(stream: AsyncIterable<Buffer>, encoding: BufferEncoding = "latin1"): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString(encoding);
}

/** An error as S3 words it. */
export function errorAnswer(status: number, code: string, headers: Record<string, string> = {}): ProxiedAnswer {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>of the proxy</Message></Error>`;
  return { status, headers: { "content-type": "application/xml", ...headers }, body };
}
