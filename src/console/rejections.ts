import type { Rejection } from "../custody/port.ts";
import { endpoint } from "./endpoint.ts";
import { routeNamed } from "./naming.ts";

/** `GET …/rejections`: the last requests that a route refused. */
export const listRejections = endpoint({
  operation: "listRejections",
  method: "GET",
  path: "/v1/namespaces/{namespace}/routes/{route}/rejections",
  rights: ({ path: { namespace, route } }) => [
    { verb: "list", on: "webhookroutes/rejections", namespace, name: route },
  ],
  handle: async ({ path: { namespace, route }, directory, custody }) => {
    const known = routeNamed(directory, namespace, route);
    const rejections = await custody(namespace).ledger.rejections(known.route);
    return { body: { items: rejections.toSorted((a, b) => b.at - a.at).map(rejectionAnswer) } };
  },
});

function rejectionAnswer({ at, client, status, reason, headerNames, bodyBytes, bodySha256 }: Rejection): object {
  return {
    at: new Date(at).toISOString(),
    client,
    status,
    reason,
    headerNames,
    bodyBytes,
    ...(bodySha256 !== "" && { bodySha256 }),
  };
}
