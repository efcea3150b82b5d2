import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { KubeObject } from "./control-plane/client.ts";

const ROOT = join(import.meta.dirname, "../crds");

/** A manifest of `test/crds/`. */
export interface CrdFixture {
  readonly name: string;
  readonly object: KubeObject;
  /** The object that it replaces. */
  readonly previous: KubeObject | undefined;
  /** From the first line, `# expect: PATH: TEXT`; empty in `valid`. */
  readonly path: string;
  readonly text: string;
}

type Verdict = "valid" | "invalid" | "refused";
type KindFolder = "webhook-destination" | "cleanup-policy" | "cleanup-run";

/** The manifests of a folder: accepted, refused by the API server too, or refused by Davit only; of WebhookRoutes, or in a folder of their kind. */
export function crdFixtures(folder: Verdict | `${KindFolder}/${Verdict}`): CrdFixture[] {
  const read = (name: string) => readFileSync(join(ROOT, folder, `${name}.yaml`), "utf8");
  const names = readdirSync(join(ROOT, folder)).map((file) => file.replace(/\.yaml$/, ""));
  return names
    .filter((name) => !name.endsWith(".previous"))
    .map((name) => {
      const content = read(name);
      const [, path = "", text = ""] = /^# expect: (.+?): (.+)$/m.exec(content) ?? [];
      const previous = names.includes(`${name}.previous`) ? (parse(read(`${name}.previous`)) as KubeObject) : undefined;
      return { name, object: parse(content) as KubeObject, previous, path, text };
    });
}
