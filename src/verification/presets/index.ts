import { github } from "./github.ts";
import type { Preset } from "./preset.ts";
import { queuePush } from "./queue-push.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";

/** Every provider by the name used in `spec.verification.provider`. */
export const presets: ReadonlyMap<string, Preset> = new Map(
  [github, queuePush, standardWebhooks, stripe].map((preset) => [preset.name, preset]),
);
