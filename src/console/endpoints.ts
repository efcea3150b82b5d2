import { DESTINATION_ENDPOINTS } from "./destinations/endpoints.ts";
import type { Endpoint } from "./endpoint.ts";
import { listRejections } from "./rejections.ts";

/** All endpoints of the listener of operators. Each is described in `docs/openapi/v1.yaml`. */
export const ENDPOINTS: readonly Endpoint[] = [listRejections, ...DESTINATION_ENDPOINTS];
