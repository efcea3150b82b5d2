import type { WebhookDestination } from "../../api/generated/webhook-destination.ts";
import { API_VERSION } from "../../api/names.ts";
import type { KubeObject, Live } from "../../kube/objects.ts";
import type { ResourceType } from "../../kube/resource-type.ts";

/** A WebhookDestination as the API server has it. Its spec passed the schema of the CRD that is installed, not more. */
export type DestinationObject = KubeObject & Pick<WebhookDestination, "spec" | "status">;

const [group = "", version = ""] = API_VERSION.split("/");

/** WebhookDestinations. */
export const WEBHOOK_DESTINATIONS: ResourceType<DestinationObject> = {
  group,
  version,
  kind: "WebhookDestination",
  plural: "webhookdestinations",
  namespaced: true,
};

/** What it is called, as it says. */
export function idOf({ metadata, spec }: Pick<Live<DestinationObject>, "metadata" | "spec">): string {
  return spec.id ?? metadata.name;
}
