import type { ResourceAttributes } from "../kube/access-review.ts";
import type { Caller } from "../kube/access.ts";
import { Refused } from "./refusals.ts";

/** Virtual subresources of our kinds, to which RBAC gives the rights of the operations API. */
export type Subresource =
  | "webhookroutes/events"
  | "webhookroutes/payloads"
  | "webhookroutes/deadletters"
  | "webhookroutes/replays"
  | "webhookroutes/rejections"
  | "webhookdestinations/statistics"
  | "webhookdestinations/gate"
  | "webhookdestinations/test";

/** What a call needs the right to. */
export interface Right {
  readonly verb: "get" | "list" | "create" | "update" | "delete";
  readonly on: Subresource;
  readonly namespace: string;
  /** `metadata.name` of the object; empty: all of the namespace. */
  readonly name: string;
  /** What a refusal calls it, where its name is not what was asked for and must not be told. Default: {@link name}. */
  readonly shown?: string;
}

/** A right in the words of RBAC. */
export function attributesOf({ verb, on, namespace, name }: Right): ResourceAttributes {
  const [resource = "", subresource = ""] = on.split("/");
  return { verb, group: "davit.dev", resource, subresource, namespace, name };
}

/**
 * Lets nobody pass who lacks one of the rights.
 * @throws Refused `NotAllowed`, `AccessUnknown`
 */
export async function demand(caller: Caller, rights: readonly Right[]): Promise<void> {
  for (const right of rights) {
    // oxlint-disable-next-line no-await-in-loop -- whoever lacks the first is not asked about more
    if (await known(caller.may(attributesOf(right)))) continue;
    const { verb, on, namespace, name, shown = name } = right;
    const whose = shown === "" ? `all of namespace ${namespace}` : `${namespace}/${shown}`;
    throw new Refused("NotAllowed", { message: `this token may not ${verb} ${on} of ${whose}` });
  }
}

/**
 * Whoever cannot be told is not let in.
 * @throws Refused `AccessUnknown`
 */
export async function known<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw new Refused("AccessUnknown", { detail: error instanceof Error ? error.message : String(error) });
  }
}
