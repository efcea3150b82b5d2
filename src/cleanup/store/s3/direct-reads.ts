import type { HeadObjectCommandOutput, S3Client } from "@aws-sdk/client-s3";
import type { ObjectTag, VersionId } from "../port.ts";
import { allOf } from "./answer-root.ts";
import { plainHead, type PlainHeaders, plainTags } from "./plain-answers.ts";

type Signer = Awaited<ReturnType<S3Client["config"]["signer"]>>;
type Request = Parameters<Signer["sign"]>[0];
type Headers = Readonly<Record<string, string>>;

/** What the SDK makes of a request, without the object that it is about. */
interface Template {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  /** Path up to the key. */
  readonly base: string;
  readonly headers: Headers;
  readonly region: string;
}

/** Region of a signature of version 4 for S3 (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html). */
const SCOPE = /^AWS4-HMAC-SHA256 Credential=[^,]+\/\d{8}\/([^/,]+)\/s3\/aws4_request,/;

interface Asked {
  readonly method: "GET" | "HEAD";
  readonly version: VersionId;
  readonly query?: Headers;
  readonly signal: AbortSignal;
}

interface Answer {
  readonly status: number;
  readonly headers: PlainHeaders;
  readonly body: Buffer;
}

/** After so many answers one after the other that could not be taken, nothing more is asked in this way. */
const MISSES = 20;

/**
 * HEAD and tags of a version without most of the SDK, which takes three times as much processor time for each: a run asks for both of every version. Requests are the SDK's own
 * first HEAD with another key and version, signed by its signer and sent over its connections. Only answers in their plainest form are taken. For all else
 * `undefined` is returned, and the SDK is to be asked, which knows what errors mean and what is tried again.
 */
export class DirectReads {
  readonly #client: S3Client;
  readonly #onAnswer: (headers: Headers) => void;
  #template: Template | undefined;
  #signer: Promise<Signer> | undefined;
  #misses = 0;

  /** @param onAnswer told of the headers of every answer */
  constructor(client: S3Client, onAnswer: (headers: Headers) => void) {
    this.#client = client;
    this.#onAnswer = onAnswer;
    client.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          const { Key: key } = args.input as { readonly Key?: string };
          if (commandName === "HeadObjectCommand" && this.#template === undefined && key !== undefined)
            this.#learn(args.request as Request, key);
          return next(args);
        },
      { step: "finalizeRequest", priority: "low", name: "davitDirectReads" },
    );
  }

  /** What {@link HeadObjectCommandOutput} has of a version that is there; may be of another one, as any answer. */
  async head(version: VersionId, signal: AbortSignal): Promise<Partial<HeadObjectCommandOutput> | undefined> {
    const answer = await this.#ask({ method: "HEAD", version, signal });
    return this.#taken(answer, ({ headers }) => plainHead(headers));
  }

  async tags(version: VersionId, signal: AbortSignal): Promise<readonly ObjectTag[] | undefined> {
    const answer = await this.#ask({ method: "GET", version, query: { tagging: "" }, signal });
    return this.#taken(answer, ({ body }) => plainTags(body.toString("utf8")));
  }

  #learn({ protocol, hostname, port, path, headers }: Request, key: string): void {
    const tail = `/${escapedKey(key)}`;
    const region = SCOPE.exec(headers["authorization"] ?? "")?.[1];
    // Buckets that are signed for, or named, in another way have no direct reads.
    if (region === undefined || !path.endsWith(tail)) return;
    const kept = Object.entries(headers).filter(([name]) => /^(host|user-agent)$/i.test(name));
    this.#template = {
      protocol,
      hostname,
      ...(port !== undefined && { port }),
      base: path.slice(0, -tail.length + 1),
      headers: Object.fromEntries(kept),
      region,
    };
  }

  #taken<T>(answer: Answer | undefined, read: (answer: Answer) => T | undefined): T | undefined {
    // Nothing is wrong with how a version that is gone was asked for, or when the store is too busy.
    if (answer === undefined || answer.status === 404 || answer.status >= 500) return undefined;
    const taken = answer.status === 200 ? read(answer) : undefined;
    this.#misses = taken === undefined ? this.#misses + 1 : 0;
    return taken;
  }

  async #ask({ method, version, query = {}, signal }: Asked): Promise<Answer | undefined> {
    if (this.#template === undefined || this.#misses >= MISSES) return undefined;
    try {
      const { base, region: signingRegion, ...rest } = this.#template;
      const path = base + escapedKey(version.key);
      const request = { ...rest, method, path, query: { ...query, versionId: version.versionId } };
      const { systemClockOffset, requestHandler } = this.#client.config;
      const signingDate = new Date(Date.now() + systemClockOffset);
      this.#signer ??= this.#client.config.signer();
      const signed = await (await this.#signer).sign(request, { signingDate, signingRegion, signingService: "s3" });
      const { response } = await requestHandler.handle(signed as Parameters<typeof requestHandler.handle>[0], {
        abortSignal: signal,
      });
      this.#onAnswer(response.headers);
      // To its end, so that the connection can be used again.
      const body = await allOf(response.body as AsyncIterable<Uint8Array>);
      return { status: response.statusCode, headers: response.headers, body };
    } catch {
      // The SDK says why, when it is asked.
      return undefined;
    }
  }
}

/** As the SDK escapes it (RFC 3986, section 2.3), part by part. @throws URIError for what is no text */
function escapedKey(key: string): string {
  const escaped = encodeURIComponent(key).replaceAll("%2F", "/");
  return escaped.replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
