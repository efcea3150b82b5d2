import type { OutgoingHttpHeaders } from "node:http";
import type { PreparedRoute } from "./prepared-route.ts";

/** The answer to an event that is in custody. */
export interface AcceptedAnswer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/**
 * What a provider is told whose event is in custody, now or before: the route's status, and the body that the provider demands, else the event's id in JSON.
 *
 * @param event `location`: where to ask what became of it
 * @param idField name of the id in the JSON
 */
export function acceptedAnswer(
  { entry, ack }: PreparedRoute,
  event: { readonly id: string; readonly replayed: boolean; readonly location?: string | undefined },
  idField: string,
): AcceptedAnswer {
  const { status } = entry.response;
  const told = { "davit-event-id": event.id, ...(event.location !== undefined && { location: event.location }) };
  if (status === 204) return { status, headers: told, body: "" };
  const body = ack?.body ?? `{"${idField}":"${event.id}","replayed":${event.replayed}}`;
  const type = ack?.body === undefined ? "application/json" : ack.contentType;
  return {
    status,
    headers: {
      ...(type !== undefined && { "content-type": type }),
      "content-length": Buffer.byteLength(body),
      ...told,
    },
    body,
  };
}
