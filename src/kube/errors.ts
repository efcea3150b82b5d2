import { fieldOf } from "../lib/record.ts";
import { canIRemedy, type RequestInfo } from "./request-info.ts";

/** Longest message of an error, characters. */
const LONGEST_MESSAGE = 300;

/** What went wrong, stable: decide by it. */
export type KubeApiErrorCode =
  | "Invalid"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "TooManyRequests"
  | "Timeout"
  | "Unavailable"
  | "Unsupported"
  | "Unknown";

const BY_STATUS: Readonly<Record<number, KubeApiErrorCode>> = {
  400: "Invalid",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "Unsupported",
  406: "Unsupported",
  409: "Conflict",
  410: "Gone",
  415: "Unsupported",
  422: "Invalid",
  429: "TooManyRequests",
  500: "Unavailable",
  502: "Unavailable",
  503: "Unavailable",
  504: "Timeout",
};
/** Reasons that say more than the status (`metav1.StatusReason`). */
const BY_REASON: Readonly<Record<string, KubeApiErrorCode>> = {
  AlreadyExists: "AlreadyExists",
  Expired: "Gone",
  ServerTimeout: "Timeout",
};

/** The part of `metav1.Status` that decides something. */
export interface KubeStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly field?: string }[];
  };
}

/** A `metav1.Status` from a body of unknown shape; `undefined` if it is none. */
export function statusOf(body: unknown): KubeStatus | undefined {
  return fieldOf(body, "kind") === "Status" ? (body as KubeStatus) : undefined;
}

/** What an answer carries besides its status. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: KubeStatus | undefined;
  readonly request: RequestInfo;
  /** From the header `Retry-After`, ms. */
  readonly retryAfterMs?: number | undefined;
  /** Who we are, for the remedy of a 403. */
  readonly user?: string | undefined;
}

/** A non-2xx answer of the API server, or an ERROR event in a watch. Its message is at most 300 characters and holds no part of an object. */
export class KubeApiError extends Error {
  override readonly name = "KubeApiError";
  readonly code: KubeApiErrorCode;
  readonly status: number;
  /** `reason` of the server's Status, "" without one. */
  readonly reason: string;
  readonly causes: readonly string[];
  /** The server asked to wait this long, ms. */
  readonly retryAfterMs: number | undefined;
  readonly request: RequestInfo;

  constructor(answer: ApiAnswer) {
    super(bounded(messageOf(answer)));
    this.status = answer.status;
    this.request = answer.request;
    const body = answer.body ?? {};
    this.reason = body.reason ?? "";
    this.code = isOtherUid(answer) ? "Conflict" : (BY_REASON[this.reason] ?? BY_STATUS[answer.status] ?? "Unknown");
    this.causes = (body.details?.causes ?? []).map(({ reason = "" }) => reason);
    this.retryAfterMs = answer.retryAfterMs ?? msOf(body.details?.retryAfterSeconds);
  }
}

/** A patch for another object of that name, or for one that is gone: the server calls it an invalid change of `metadata.uid` (422). */
function isOtherUid({ status, body }: ApiAnswer): boolean {
  const causes = body?.details?.causes ?? [];
  return status === 422 && causes.length > 0 && causes.every(({ field }) => field === "metadata.uid");
}

function msOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** Why the API server could not be asked, stable. */
export type KubeConnectionErrorCode = "Unreachable" | "Timeout" | "Certificate" | "BrokenAnswer";

/** The call has no answer: whether the server carried it out is not known, unless `code` is `Certificate`. */
export class KubeConnectionError extends Error {
  override readonly name = "KubeConnectionError";
  readonly code: KubeConnectionErrorCode;

  constructor(code: KubeConnectionErrorCode, message: string, options?: ErrorOptions) {
    super(bounded(message), options);
    this.code = code;
  }
}

/** What is wrong with the credentials, stable. */
export type KubeConfigErrorCode =
  | "KubeconfigMissing"
  | "KubeconfigInvalid"
  | "ContextUnknown"
  | "CredentialPluginFailed"
  | "NotInCluster"
  | "CredentialsUnreadable";

/** Who we are or where the server is cannot be told. The message says what to do. */
export class KubeConfigError extends Error {
  override readonly name = "KubeConfigError";
  readonly code: KubeConfigErrorCode;

  constructor(code: KubeConfigErrorCode, message: string, options?: ErrorOptions) {
    super(bounded(message), options);
    this.code = code;
  }
}

const hasCode = (error: unknown, code: KubeApiErrorCode): error is KubeApiError =>
  error instanceof KubeApiError && error.code === code;

/** The object, its namespace or its kind does not exist. */
export const isNotFound = (error: unknown): error is KubeApiError => hasCode(error, "NotFound");
/** Somebody else changed the object since it was read, or owns a field that an apply without force wanted. */
export const isConflict = (error: unknown): error is KubeApiError => hasCode(error, "Conflict");
/** A create found the name taken. */
export const isAlreadyExists = (error: unknown): error is KubeApiError => hasCode(error, "AlreadyExists");
/** The version asked for is older than what the server kept. */
export const isGone = (error: unknown): error is KubeApiError => hasCode(error, "Gone");
/** RBAC or admission refuses it. */
export const isForbidden = (error: unknown): error is KubeApiError => hasCode(error, "Forbidden");

/** How long the server asked to wait, ms; 0 if it did not. */
export function retryAfterOf(error: unknown): number {
  return error instanceof KubeApiError ? (error.retryAfterMs ?? 0) : 0;
}

type Words = (answer: ApiAnswer, said: string) => string;

const WORDS: Readonly<Record<number, Words>> = {
  401: (_answer, said) =>
    `the API server does not accept our credentials (401${said}): the token or client certificate has expired, or belongs to another cluster`,
  403: (answer, said) => `${canIRemedy(answer.request, answer.user)} (403${said})`,
};

function messageOf(answer: ApiAnswer): string {
  const said = serverWords(answer);
  const words = WORDS[answer.status];
  if (words) return words(answer, said === "" ? "" : `: ${said}`);
  const { verb, resource, namespace, name } = answer.request;
  const target = [resource, namespace && `in ${namespace}`, name].filter(Boolean).join(" ");
  if (answer.status === 404 && !answer.body) {
    return `${verb} ${target}: the API server does not serve ${resource} (404); is its CustomResourceDefinition installed in this version?`;
  }
  return `${verb} ${target}: ${answer.status} ${answer.body?.reason ?? "without a reason"}${said === "" ? "" : `: ${said}`}`;
}

/**
 * What the server said. Of a refused object only the fields that it complains about: the sentences quote their values. Of a Secret that was not
 * understood, nothing.
 */
function serverWords({ status, body, request }: ApiAnswer): string {
  if (!body) return "";
  if (status === 422) return fieldsOf(body);
  const mayQuote = status === 400 || status >= 500;
  return mayQuote && request.resource.startsWith("secrets") ? "" : (body.message ?? "");
}

function fieldsOf({ details }: KubeStatus): string {
  const causes = (details?.causes ?? []).map(({ field = "?", reason = "" }) => `${field} ${reason}`.trim());
  return [...new Set(causes)].join(", ");
}

function bounded(text: string): string {
  return text.length <= LONGEST_MESSAGE ? text : `${text.slice(0, LONGEST_MESSAGE - 1)}…`;
}
