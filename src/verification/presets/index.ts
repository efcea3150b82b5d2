import { ably } from "./ably.ts";
import { adyenPlatform } from "./adyen-platform.ts";
import { adyen } from "./adyen/preset.ts";
import { asana } from "./asana.ts";
import { auth0 } from "./auth0.ts";
import { awsSns } from "./aws-sns/preset.ts";
import { bigcommerce } from "./bigcommerce.ts";
import { bitbucket } from "./bitbucket.ts";
import { box } from "./box/preset.ts";
import { calendly } from "./calendly.ts";
import { circleci } from "./circleci.ts";
import { clerk } from "./clerk.ts";
import { cloudflareNotifications } from "./cloudflare-notifications.ts";
import { cloudflareStream } from "./cloudflare-stream.ts";
import { coinbaseCdp } from "./coinbase-cdp.ts";
import { coinbaseCommerce } from "./coinbase-commerce.ts";
import { contentful } from "./contentful.ts";
import { convoy } from "./convoy.ts";
import { discord } from "./discord.ts";
import { dockerHub } from "./docker-hub.ts";
import { docusign } from "./docusign.ts";
import { dropbox } from "./dropbox.ts";
import { github } from "./github.ts";
import { gitlabSigned } from "./gitlab-signed.ts";
import { gitlab } from "./gitlab.ts";
import { heroku } from "./heroku.ts";
import { hook0 } from "./hook0/preset.ts";
import { hookdeck } from "./hookdeck.ts";
import { hubspot, hubspotV1, hubspotV2 } from "./hubspot/preset.ts";
import { intercom } from "./intercom.ts";
import { jira } from "./jira.ts";
import { lemonsqueezy } from "./lemonsqueezy.ts";
import { linear } from "./linear.ts";
import { mailgun } from "./mailgun/preset.ts";
import { meta } from "./meta.ts";
import { monday } from "./monday.ts";
import { msGraph } from "./ms-graph/preset.ts";
import { notion } from "./notion.ts";
import { okta } from "./okta.ts";
import { openai } from "./openai.ts";
import { outpost } from "./outpost.ts";
import { paddle } from "./paddle.ts";
import { pagerduty } from "./pagerduty.ts";
import { paypal } from "./paypal/preset.ts";
import { plaid } from "./plaid.ts";
import { polar } from "./polar.ts";
import type { Preset } from "./preset.ts";
import { pusher } from "./pusher.ts";
import { queuePush } from "./queue-push.ts";
import { razorpay } from "./razorpay.ts";
import { resend } from "./resend.ts";
import { sendgrid } from "./sendgrid.ts";
import { sentry } from "./sentry.ts";
import { shopify } from "./shopify.ts";
import { slack } from "./slack.ts";
import { square } from "./square.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";
import { supabase } from "./supabase.ts";
import { svix } from "./svix.ts";
import { trello } from "./trello.ts";
import { twilio } from "./twilio/preset.ts";
import { twitch } from "./twitch.ts";
import { typeform } from "./typeform.ts";
import { vercel } from "./vercel.ts";
import { woocommerce } from "./woocommerce.ts";
import { x } from "./x.ts";
import { xero } from "./xero.ts";
import { zendesk } from "./zendesk.ts";
import { zoom } from "./zoom.ts";

/** Every provider by the name used in `spec.verification.provider`. */
export const presets: ReadonlyMap<string, Preset> = new Map(
  [
    ably,
    adyen,
    adyenPlatform,
    asana,
    auth0,
    awsSns,
    bigcommerce,
    bitbucket,
    box,
    calendly,
    circleci,
    clerk,
    cloudflareNotifications,
    cloudflareStream,
    coinbaseCdp,
    coinbaseCommerce,
    contentful,
    convoy,
    discord,
    dockerHub,
    docusign,
    dropbox,
    github,
    gitlab,
    gitlabSigned,
    heroku,
    hook0,
    hookdeck,
    hubspot,
    hubspotV1,
    hubspotV2,
    intercom,
    jira,
    lemonsqueezy,
    linear,
    mailgun,
    meta,
    monday,
    msGraph,
    notion,
    okta,
    openai,
    outpost,
    paddle,
    pagerduty,
    paypal,
    plaid,
    polar,
    pusher,
    queuePush,
    razorpay,
    resend,
    sendgrid,
    sentry,
    shopify,
    slack,
    square,
    standardWebhooks,
    stripe,
    supabase,
    svix,
    trello,
    twilio,
    twitch,
    typeform,
    vercel,
    woocommerce,
    x,
    xero,
    zendesk,
    zoom,
  ].map((preset) => [preset.name, preset]),
);
