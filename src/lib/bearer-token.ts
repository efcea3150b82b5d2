import type { IncomingMessage } from "node:http";

/** Challenge of every 401, as RFC 9110 §11.6.1 demands one. */
export const BEARER_CHALLENGE = 'Bearer realm="davit"';

/** The token of `Authorization: Bearer TOKEN` (RFC 6750 §2.1). Sent twice it is none. */
export function bearerToken({ headersDistinct }: IncomingMessage): string | undefined {
  const [value = "", ...others] = headersDistinct["authorization"] ?? [];
  return others.length > 0 ? undefined : /^bearer +([\w.~+/-]+=*)$/i.exec(value)?.[1];
}
