import type { Config, HostConfig } from "../../config/schema.ts";
import type { DesiredObject } from "./desired-object.ts";

/** A served route: its entry is published. */
export interface ServedRoute {
  readonly namespace: string;
  readonly name: string;
  readonly host: string;
  readonly path: string;
}

export type IngressRelease = Pick<Config, "release" | "instance" | "namespace"> & {
  /** `gateway.service` of the config. */
  readonly service: Config["gateway"]["service"];
};

/** Key of an entry of `gateway.hosts`: two entries may share a host if their prefixes differ. */
export function hostKey({ host, pathPrefix }: Pick<HostConfig, "host" | "pathPrefix">): string {
  return `${host}${pathPrefix}`;
}

/** The objects that expose one entry of `gateway.hosts`, in the order in which they must be applied. */
export function hostObjects(
  _host: HostConfig,
  _routes: readonly ServedRoute[],
  _release: IngressRelease,
): readonly DesiredObject[] {
  return [];
}
