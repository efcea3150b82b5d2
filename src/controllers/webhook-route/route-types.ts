import { API_VERSION } from "../../api/names.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import type { RouteObject } from "./watching/route-index.ts";

const [group = "", version = ""] = API_VERSION.split("/");

/** WebhookRoutes. */
export const WEBHOOK_ROUTES: ResourceType<RouteObject> = {
  group,
  version,
  kind: "WebhookRoute",
  plural: "webhookroutes",
  namespaced: true,
};
