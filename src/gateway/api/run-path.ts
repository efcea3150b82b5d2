import type { IncomingMessage } from "node:http";
import type { CleanupRunRef } from "../../api/cleanup-run.ts";
import { declaredLength } from "../../lib/request-body.ts";
import type { ApiReason } from "./refusals.ts";

/** A Kubernetes name in a path; whatever else stands there names nothing. */
export const NAME = "[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?";
/** As `cleanupRunPath` writes it: a run's id is one percent-encoded segment. */
const RUN = new RegExp(
  `^/v1/namespaces/(?<namespace>${NAME})/cleanup-policies/(?<policy>${NAME})/runs/(?<run>[^/?]+)(?:\\?|$)`,
);
/** As a push may have it. */
const RUN_ID = /^[\x21-\x7e]{1,128}$/;
/** Groups of {@link RUN}. */
type Named = Readonly<Record<"namespace" | "policy" | "run", string>>;
/** Bytes of a body that nobody reads. */
const MAX_UNREAD = 65_536;

/** The run that a request asks for, or why it is refused; `undefined` when it is for something else. */
export function runAsked(request: IncomingMessage): CleanupRunRef | ApiReason | undefined {
  const found = RUN.exec(request.url ?? "")?.groups as Named | undefined;
  if (found === undefined) return undefined;
  if (request.method !== "GET") return "RunMethodNotAllowed";
  if ((declaredLength(request) ?? Infinity) > MAX_UNREAD) return "RunRequestTooLarge";
  const { namespace, policy, run } = found;
  const runId = decoded(run);
  return RUN_ID.test(runId) ? { namespace, policy, runId } : "RunIdMalformed";
}

/** Empty when it is encoded wrongly. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
