import { COMPONENT_LABEL, NAMESPACE_ANNOTATION, ROUTE_ANNOTATION } from "../../../api/names.ts";
import type { KubeObject } from "../../../kube/objects.ts";

/** The `scopeKey` of the workers that an object was made for; `undefined` for what belongs to no workers, or to another controller's object. */
export function childScope({ metadata }: KubeObject): string | undefined {
  const component = metadata.labels?.[COMPONENT_LABEL];
  if (component !== "worker" && component !== "worker-config") return undefined;
  // KEDA makes an HPA of a ScaledObject and gives it our labels.
  const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
  if (owner !== undefined && owner.kind !== "WebhookRoute") return undefined;
  return metadata.annotations?.[ROUTE_ANNOTATION] ?? metadata.annotations?.[NAMESPACE_ANNOTATION];
}
