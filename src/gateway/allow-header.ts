import type { IncomingMessage } from "node:http";
import type { PreparedRoute } from "./prepared-route.ts";
import { RequestView } from "./request-view.ts";

/**
 * The value of `Allow` (RFC 9110 §10.2.1): the methods of events, and those with which this request would be a handshake of the route. So a route does not tell
 * everybody which provider it is for.
 */
export function allowHeader(route: PreparedRoute, request: IncomingMessage, { path, body }: RequestView): string {
  const greeted = route.handshakes.filter((handshake) => {
    const view = new RequestView(
      { method: handshake.method, rawHeaders: request.rawHeaders },
      path,
      route.entry.publicUrl,
    );
    view.body = body;
    return handshake.recognises(view);
  });
  return [...new Set([...route.methods, ...greeted.map(({ method }) => method)])].join(", ");
}
