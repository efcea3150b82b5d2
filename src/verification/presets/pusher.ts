import type { HmacConfig, SignedContent } from "../config.ts";
import { refuse, singleHeader } from "../refusal.ts";
import type { Preset } from "./preset.ts";

const SCHEME: HmacConfig = {
  type: "hmac",
  header: "x-pusher-signature",
  algorithm: "sha256",
  encoding: "hex",
  hexCase: "lower",
  prefix: "",
  signedContent: "{body}",
  keyIdHeader: "x-pusher-key",
};

/** The body, from one app only: Pusher's libraries look up the secret by the key in the header, and refuse a key they do not have. */
function fromApp(key: string): SignedContent {
  return {
    description: "the body; X-Pusher-Key must be the app's",
    contents(request) {
      const sent = singleHeader(request, "x-pusher-key", "SignatureMalformed");
      if (typeof sent !== "string") return sent;
      return sent === key
        ? [[request.body]]
        : refuse("SenderMismatch", "x-pusher-key is not the app that parameters.key names");
    },
  };
}

/**
 * Pusher Channels: HMAC-SHA256 over the body, keyed with the secret of the app key that `X-Pusher-Key` names. There is no id; the body has the time in
 * milliseconds.
 */
export const pusher: Preset = {
  name: "pusher",
  title: "Pusher Channels",
  scheme: ({ key }) => (key === undefined ? SCHEME : { ...SCHEME, signedContent: fromApp(key) }),
  secrets: { signing: "shared", description: "the secret of the app key, under App Keys" },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Signature",
  retryWindowMs: 10 * 60_000,
  ackBudgetMs: 4_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/events/0/name" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-pusher-key"],
  parameters: [
    {
      name: "key",
      required: false,
      description: "the app key that must stand in X-Pusher-Key; without it any key whose secret matches is taken",
      pattern: /^[0-9A-Za-z]{1,64}$/,
    },
  ],
  behaviour: {
    retries: "for 5 minutes, less and less often",
    note: "a request holds several events. While two app keys are in use, name them as keyId in secretRefs",
  },
  sample: {
    body: '{"time_ms":$nowMs,"events":[{"name":"channel_occupied","channel":"orders-$id"}]}',
  },
  documentation: "https://pusher.com/docs/channels/server_api/webhooks/",
};
