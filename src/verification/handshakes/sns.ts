import { refuse } from "../refusal.ts";
import { OK } from "./answers.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField } from "./said.ts";

/** Hosts of SNS, of all partitions with public endpoints: https://docs.aws.amazon.com/general/latest/gr/sns.html. */
const SNS_HOST = /^sns\.[a-z]{2}(-[a-z]+)+-\d\.amazonaws\.com(\.cn)?$/;

/**
 * AWS SNS: a subscription exists once its `SubscribeURL` was fetched. The URL is signed by AWS with the rest of the message, and nevertheless fetched from
 * SNS only.
 */
export const snsSubscriptionConfirmation: Handshake = {
  name: "SubscriptionConfirmation",
  method: "POST",
  signed: true,
  recognises: (request) => bodyField(request, "Type") === "SubscriptionConfirmation",
  answer: ({ request }) => {
    const url = subscribeUrl(bodyField(request, "SubscribeURL"));
    if (!url) return refuse("ChallengeMalformed", "field SubscribeURL of the body is no https URL of SNS");
    return { ...OK, action: { type: "confirm", url: url.href, id: `https://${url.hostname}/` } };
  },
};

/** AWS SNS: somebody ended the subscription. Answered only: fetching the `SubscribeURL` in it would subscribe again. */
export const snsUnsubscribeConfirmation: Handshake = {
  name: "UnsubscribeConfirmation",
  method: "POST",
  signed: true,
  recognises: (request) => bodyField(request, "Type") === "UnsubscribeConfirmation",
  answer: () => ({
    ...OK,
    notice: "SNS ended the subscription of this route: nothing arrives until it is subscribed again",
  }),
};

function subscribeUrl(value: unknown): URL | undefined {
  if (typeof value !== "string" || value.length > 4_096 || !URL.canParse(value)) return undefined;
  const url = new URL(value);
  const plainHost = url.protocol === "https:" && url.port === "" && url.username === "" && url.password === "";
  return plainHost && SNS_HOST.test(url.hostname) ? url : undefined;
}
