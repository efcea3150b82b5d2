import { isNotFound } from "./errors.ts";
import { groupVersionPath, type ResourceType } from "./resource-type.ts";
import type { CallOptions } from "./resource-client.ts";
import type { KubeTransport } from "./transport.ts";

/** `GET /version`. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
  /** `v1.34.1`. */
  readonly gitVersion: string;
}

/** The server's version. Some providers append "+" to the minor; it is dropped. */
export async function serverVersion(transport: KubeTransport, options: CallOptions = {}): Promise<ServerVersion> {
  const answer = await transport.json<{ major?: string; minor?: string; gitVersion?: string }>({
    method: "GET",
    path: "/version",
    ...options,
  });
  return {
    major: Number.parseInt(answer.major ?? "", 10),
    minor: Number.parseInt(answer.minor ?? "", 10),
    gitVersion: answer.gitVersion ?? "unknown",
  };
}

/** Whether a server is at least `major.minor`. A version that it does not tell counts as old enough to fail. */
export function isAtLeast(version: ServerVersion, major: number, minor: number): boolean {
  return version.major > major || (version.major === major && version.minor >= minor);
}

/**
 * Whether the server serves this kind in this version.
 * @throws as every call; a group whose own server is down (503) is such a case, not a "no"
 */
export async function serves(
  transport: KubeTransport,
  type: ResourceType,
  options: CallOptions = {},
): Promise<boolean> {
  try {
    const list = await transport.json<{ resources?: readonly { name?: string }[] }>({
      method: "GET",
      path: groupVersionPath(type),
      ...options,
    });
    return (list.resources ?? []).some(({ name }) => name === type.plural);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
