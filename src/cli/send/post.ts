import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/** An answer, its body as text. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Sent as `Host`, where the URL names another one. */
  readonly host?: string;
}

const TIMEOUT_MS = 15_000;

/**
 * POSTs once. `fetch` is of no use here: it does not let one write `Host`.
 * @throws Error when there is no answer within 15 s
 */
export function post(url: string, { headers, body, host }: PostOptions): Promise<Answer> {
  const send = url.startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      {
        method: "POST",
        headers: { ...headers, ...(host !== undefined && { host }), "content-length": String(body.length) },
        timeout: TIMEOUT_MS,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.once("error", reject);
        response.once("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    request.once("timeout", () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)));
    request.once("error", reject);
    request.end(body);
  });
}
