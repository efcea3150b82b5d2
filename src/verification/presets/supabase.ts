import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** Supabase Auth hooks over HTTP. The secret is shown as `v1,whsec_<base64>`. Supabase waits for the answer and reads it as JSON. */
export const supabase = standardWebhooksSender({
  name: "supabase",
  title: "Supabase Auth hooks",
  secrets: { signing: "shared", description: "the hook's secret as shown, v1,whsec_… included" },
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200, contentType: "application/json", body: "{}" },
  behaviour: {
    retries: "up to three times, 2 s apart, after 429 and 503 with Retry-After",
    danger: "sign-ups and log-ins wait for the answer and fail with it",
    note: "for hooks that only tell something (send e-mail, send SMS); one whose answer decides needs a service that answers itself",
  },
  sample: { body: '{"user":{"id":"8484b834","phone":"15550100"},"sms":{"otp":"561166"}}' },
  documentation: "https://supabase.com/docs/guides/auth/auth-hooks",
});
