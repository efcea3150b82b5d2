import { valueAt } from "../../lib/json-source.ts";
import { jsonOf } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { headerIs, wellFormed } from "./said.ts";

const TYPE = "Microsoft.EventGrid.SubscriptionValidationEvent";

/** Azure Event Grid: a new subscription sends an event of its own type, alone in a list, and wants its code back. The URL's token must be right. */
export const eventGridValidation: Handshake = {
  name: "SubscriptionValidation",
  method: "POST",
  signed: true,
  recognises: (request) =>
    headerIs(request, "aeg-event-type", "subscriptionvalidation") && onlyEvent(request, "eventType") === TYPE,
  answer: ({ request }) => {
    const code = valueAt(onlyEvent(request, "data"), ["validationCode"]);
    return jsonOf(wellFormed([code], ECHO_FORM, "field data.validationCode of the event"), (validationResponse) => ({
      validationResponse,
    }));
  },
};

/** A field of the one event in the body. */
function onlyEvent(request: Parameters<Handshake["recognises"]>[0], name: string): unknown {
  const parsed = request.json();
  return parsed.ok && Array.isArray(parsed.value) && parsed.value.length === 1
    ? valueAt(parsed.value, ["0", name])
    : undefined;
}
