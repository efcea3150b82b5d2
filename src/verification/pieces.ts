import type { CustomConfig, HmacConfig } from "./config.ts";
import { refuse } from "./refusal.ts";
import { hmacKind } from "./schemes/hmac.ts";
import type { SignedRequest, Verdict } from "./types.ts";

/** A header holds a whole signature for each secret while one is rotated; providers have two. */
const MAX_PIECES = 4;

/**
 * An HMAC whose header is taken apart before it is read: several signatures with a timestamp each (Persona), a header sent once per secret (Mollie), or another
 * way of writing a list (WorkOS). One piece that verifies is enough.
 *
 * @param split the pieces in the header's values, each as `scheme` expects the header
 */
export function piecesOf(
  scheme: HmacConfig,
  split: (values: readonly string[]) => readonly string[],
  description: string,
): CustomConfig {
  return {
    type: "custom",
    description,
    covers: { body: true },
    signsTime: scheme.timestamp !== undefined,
    create: (options) => {
      const inner = hmacKind.create(scheme, options);
      return {
        ...inner,
        verify(request, keys, now) {
          const pieces = split(request.header(scheme.header));
          // Nothing to take apart: the header as it is, which is refused for what it is.
          if (pieces.length === 0) return inner.verify(request, keys, now);
          if (pieces.length > MAX_PIECES) {
            return refuse(
              "SignatureMalformed",
              `${scheme.header} holds ${pieces.length} signatures, at most ${MAX_PIECES}`,
            );
          }
          return firstAccepted(
            pieces.map((piece) => () => inner.verify(withHeader(request, scheme.header, piece), keys, now)),
          );
        },
      };
    },
  };
}

/** The first verdict that accepts, else the first one. */
function firstAccepted(tries: readonly (() => Verdict)[]): Verdict {
  let first: Verdict | undefined;
  for (const attempt of tries) {
    const verdict = attempt();
    if (verdict.ok) return verdict;
    first ??= verdict;
  }
  return first as Verdict;
}

function withHeader(request: SignedRequest, name: string, value: string): SignedRequest {
  return {
    method: request.method,
    url: request.url,
    path: request.path,
    header: (asked) => (asked === name ? [value] : request.header(asked)),
    body: request.body,
    json: () => request.json(),
  };
}
