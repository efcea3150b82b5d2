import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** The listeners that serve an API. `v1.yaml` is served by two. */
export const LISTENERS = ["api", "console", "holder"] as const;
export type Listener = (typeof LISTENERS)[number];

const FOLDER = join(import.meta.dirname, "../../../docs/openapi");
/** Served by the gateways; everything else of their document by the console. */
const OF_GATEWAYS: readonly string[] = ["publishEvents", "getCleanupRun"];

interface Operation {
  readonly operationId?: string;
}

/** An OpenAPI document. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** What a listener serves: its document without the operations of others. */
export function documentOf(listener: Listener): ApiDocument {
  const file = listener === "holder" ? "destination-v1.yaml" : "v1.yaml";
  const document = parse(readFileSync(join(FOLDER, file), "utf8")) as ApiDocument;
  if (listener === "holder") return document;
  return withOperations(document, (id) => OF_GATEWAYS.includes(id) === (listener === "api"));
}

/** A document without the operations that are not wanted. */
export function withOperations(document: ApiDocument, isWanted: (operationId: string) => boolean): ApiDocument {
  const isKept = ({ operationId }: Operation) => operationId === undefined || isWanted(operationId);
  const paths = Object.entries(document.paths)
    .map(([path, item]) => [path, Object.fromEntries(Object.entries(item).filter(([, one]) => isKept(one)))] as const)
    .filter(([, item]) => Object.values(item).some(({ operationId }) => operationId !== undefined));
  return { ...document, paths: Object.fromEntries(paths) };
}
