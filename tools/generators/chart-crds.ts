import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Generator } from "./generator.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Helm never upgrades what lies in a chart's folder crds/, so CRDs are templates. */
const START = "metadata:\n";
const KEEP = `  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
`;

/** The chart's copy of a CRD: a template behind `crds.install` and `crds.keep`. @param source path of the CRD, such as `crds/a.yaml` */
export function chartCrd(source: string): Generator {
  return {
    output: `charts/davit/templates/crds/${basename(source)}`,
    source,
    generate: async () => crdTemplate(await readFile(join(ROOT, source), "utf8"), source),
  };
}

/** Pure part of {@link chartCrd}. */
export function crdTemplate(crd: string, source: string): string {
  const escaped = crd.replaceAll("{{", '{{ "{{" }}');
  if (escaped.split(START).length < 2) throw new Error(`${source} has no line "metadata:"`);
  const annotated = escaped.replace(START, () => START + KEEP);
  return `{{- /* Generated from ${source} by \`npm run generate\`. */}}\n{{- if .Values.crds.install }}\n${annotated.trimEnd()}\n{{- end }}\n`;
}
