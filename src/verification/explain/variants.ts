import type { VerificationKey } from "../types.ts";
import type { Finding } from "./finding.ts";

/** A request as plain data. Header names are in lower case, each with all its values. */
export interface PlainRequest {
  readonly method: string;
  /** The URL as the sender is thought to have signed it. */
  readonly url: string;
  /** Path and query as received. */
  readonly path: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
}

/** What a signature is held against. */
export interface Candidate {
  readonly request: PlainRequest;
  readonly keys: readonly VerificationKey[];
}

/** One thing that may be the matter: if the signature matches after this change, the finding says what it was. */
export interface Variant {
  readonly finding: Finding;
  /** `undefined` when it changes nothing here. */
  readonly change: (candidate: Candidate) => Candidate | undefined;
}

/** A variant that replaces the body. The last body it made is kept: it is tried with several secrets. */
export function bodyVariant(finding: Finding, body: (body: Buffer) => Buffer | undefined): Variant {
  let last: { readonly from: Buffer; readonly to: Buffer | undefined } | undefined;
  return {
    finding,
    change: ({ request, keys }) => {
      if (last?.from !== request.body) last = { from: request.body, to: body(request.body) };
      const { to } = last;
      return to === undefined || to.equals(request.body) ? undefined : { keys, request: { ...request, body: to } };
    },
  };
}

/** A variant that replaces the values of one header. */
export function headerVariant(finding: Finding, name: string, values: readonly string[]): Variant {
  return {
    finding,
    change: ({ request, keys }) => ({ keys, request: { ...request, headers: { ...request.headers, [name]: values } } }),
  };
}
