import type { Preset } from "../preset.ts";
import { wixScheme } from "./scheme.ts";

/** Wix: the body is a signed token; what happened stands in it as JSON within JSON. */
export const wix: Preset = {
  name: "wix",
  title: "Wix",
  scheme: {
    type: "custom",
    description: "the body, a JSON Web Token with RS256",
    covers: { body: true },
    signsTime: false,
    create: wixScheme,
  },
  secrets: {
    signing: "public-key",
    description: "the app's public key as PEM (app dashboard, Webhooks, Get Public Key)",
  },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 1_250,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "up to 12 times over some hours, out of order",
    note: "the destination gets the token as it came and decodes it; go by the event's id in it, since an attempt may be a new token",
  },
  sample: { body: "eyJhbGciOiJSUzI1NiJ9.eyJkYXRhIjoiJGlkIn0.AA" },
  documentation:
    "https://dev.wix.com/docs/build-apps/develop-your-app/access/authentication/verify-requests-received-from-wix",
};
