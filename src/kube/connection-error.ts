import { KubeConfigError, KubeConnectionError, type KubeConnectionErrorCode } from "./errors.ts";
import { fieldOf } from "../lib/record.ts";
import { NotLeaderError } from "./fence.ts";

/** Codes of Node's TLS (OpenSSL's `X509_V_ERR_*` without the prefix, and Node's own). */
const CERTIFICATE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|INVALID_CA$|EPROTO$)/;
const TIMEOUT: ReadonlySet<string> = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT",
  "TimeoutError",
]);

const OWN = [KubeConnectionError, KubeConfigError, NotLeaderError];

const REMEDY: Readonly<Record<KubeConnectionErrorCode, string>> = {
  Unreachable: "is the address right, does the server run, and does a NetworkPolicy or firewall let us through?",
  Timeout: "it is overloaded, hangs, or a firewall drops packets",
  Certificate:
    "its certificate does not verify with the CA we were given, or it refuses ours: check certificate-authority-data, the server's name and both clocks",
  BrokenAnswer: "is something else than a Kubernetes API server listening there?",
};

/** Whatever a failed call threw, as one class; the caller's own abort and our own errors pass as they are. */
export function connectionError(error: unknown, server: string, caller?: AbortSignal): unknown {
  if (OWN.some((own) => error instanceof own)) return error;
  if (caller?.aborted) return caller.reason;
  const words = codeOf(error);
  const code = classify(error, words);
  const message = `API server ${server}: ${words}; ${REMEDY[code]}`;
  // A parser's words quote what it read, and that may be a Secret.
  return new KubeConnectionError(code, message, code === "BrokenAnswer" ? undefined : { cause: error });
}

function classify(error: unknown, words: string): KubeConnectionErrorCode {
  if (error instanceof SyntaxError) return "BrokenAnswer";
  if (TIMEOUT.has(words)) return "Timeout";
  return CERTIFICATE.test(words) ? "Certificate" : "Unreachable";
}

/** The code that says most: of the error, of its cause, else its name. */
function codeOf(error: unknown): string {
  for (const candidate of [error, fieldOf(error, "cause")]) {
    const code = fieldOf(candidate, "code");
    if (typeof code === "string") return code;
  }
  return error instanceof Error ? error.name : "failed";
}
