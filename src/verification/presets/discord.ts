import { discordEventsPing, discordPing } from "../handshakes/discord.ts";
import type { Preset } from "./preset.ts";

/**
 * Discord, interactions and webhook events: ed25519 over `timestamp` and body, hex in either case as Discord's own library reads it. Discord sends wrong
 * signatures on purpose and wants 401 for every one of them. No tolerance is documented.
 */
export const discord: Preset = {
  name: "discord",
  title: "Discord",
  scheme: {
    type: "public-key",
    header: "x-signature-ed25519",
    algorithm: "ed25519",
    keyFormat: "raw-hex",
    encoding: "hex",
    hexCase: "any",
    prefix: "",
    signedContent: "{timestamp}{body}",
    timestamp: { header: "x-signature-timestamp", unit: "seconds" },
  },
  secrets: { signing: "public-key", description: "the application's public key in hex, under General Information" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 3_000,
  ack: { status: 202, contentType: "application/json", body: "" },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: { HeaderMissing: 401, SignatureMissing: 401, TimestampMalformed: 401 },
  handshakes: [discordPing, discordEventsPing],
  showHeaders: ["x-signature-timestamp"],
  parameters: [],
  behaviour: {
    retries: "interactions are not repeated; webhook events are, for some minutes",
    danger: "a URL that accepts a wrong signature, or answers too few events, is removed",
    note: "an interaction is answered later through its callback; for webhook events set response.status 204 and payload.eventTypeFrom json:/event/type",
  },
  sample: {
    body: '{"id":"$id","application_id":"1","type":2,"data":{"id":"2","name":"deploy","type":1},"guild_id":"3","channel_id":"4"}',
  },
  documentation: "https://docs.discord.com/developers/interactions/overview",
};
