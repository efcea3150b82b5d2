import { COMPONENT_LABEL } from "../../../api/names.ts";

/** Labels of everything that exposes a host. */
export const EXPOSURE_LABELS: Readonly<Record<string, string>> = {
  "app.kubernetes.io/name": "davit",
  "app.kubernetes.io/component": "ingress",
  [COMPONENT_LABEL]: "ingress",
};
