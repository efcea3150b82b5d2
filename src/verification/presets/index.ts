import { ably } from "./ably.ts";
import { adyenPlatform } from "./adyen-platform.ts";
import { adyen } from "./adyen/preset.ts";
import { airtable } from "./airtable.ts";
import { asana } from "./asana.ts";
import { auth0 } from "./auth0.ts";
import { awsSns } from "./aws-sns/preset.ts";
import { azureEventGrid } from "./azure-event-grid.ts";
import { bigcommerce } from "./bigcommerce.ts";
import { bitbucket } from "./bitbucket.ts";
import { box } from "./box/preset.ts";
import { bridge } from "./bridge.ts";
import { buildkite } from "./buildkite.ts";
import { calendly } from "./calendly.ts";
import { circleci } from "./circleci.ts";
import { clerk } from "./clerk.ts";
import { clickup } from "./clickup.ts";
import { cloudflareNotifications } from "./cloudflare-notifications.ts";
import { cloudflareStream } from "./cloudflare-stream.ts";
import { coinbaseCdp } from "./coinbase-cdp.ts";
import { coinbaseCommerce } from "./coinbase-commerce.ts";
import { contentful } from "./contentful.ts";
import { convoy } from "./convoy.ts";
import { customerIo } from "./customer-io.ts";
import { discord } from "./discord.ts";
import { dockerHub } from "./docker-hub.ts";
import { docusign } from "./docusign.ts";
import { dropbox } from "./dropbox.ts";
import { ebay } from "./ebay/preset.ts";
import { exactOnline } from "./exact-online/preset.ts";
import { front } from "./front.ts";
import { gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { gitlabSigned } from "./gitlab-signed.ts";
import { gitlab } from "./gitlab.ts";
import { gocardless } from "./gocardless.ts";
import { heroku } from "./heroku.ts";
import { hook0 } from "./hook0/preset.ts";
import { hookdeck } from "./hookdeck.ts";
import { hubspot, hubspotV1, hubspotV2 } from "./hubspot/preset.ts";
import { intercom } from "./intercom.ts";
import { jira } from "./jira.ts";
import { knock } from "./knock.ts";
import { launchdarkly } from "./launchdarkly.ts";
import { lemonsqueezy } from "./lemonsqueezy.ts";
import { linear } from "./linear.ts";
import { linkedin } from "./linkedin.ts";
import { mailchimp } from "./mailchimp.ts";
import { mailgun } from "./mailgun/preset.ts";
import { meta } from "./meta.ts";
import { mollie } from "./mollie.ts";
import { monday } from "./monday.ts";
import { msGraph } from "./ms-graph/preset.ts";
import { mux } from "./mux.ts";
import { notion } from "./notion.ts";
import { nylas } from "./nylas.ts";
import { okta } from "./okta.ts";
import { openai } from "./openai.ts";
import { outpost } from "./outpost.ts";
import { paddle } from "./paddle.ts";
import { pagerduty } from "./pagerduty.ts";
import { paypal } from "./paypal/preset.ts";
import { paystack } from "./paystack.ts";
import { persona } from "./persona.ts";
import { plaid } from "./plaid.ts";
import { polar } from "./polar.ts";
import type { Preset } from "./preset.ts";
import { pusher } from "./pusher.ts";
import { queuePush } from "./queue-push.ts";
import { razorpay } from "./razorpay.ts";
import { resend } from "./resend.ts";
import { sanity } from "./sanity.ts";
import { sendgrid } from "./sendgrid.ts";
import { sentry } from "./sentry.ts";
import { shopify } from "./shopify.ts";
import { slack } from "./slack.ts";
import { snyk } from "./snyk.ts";
import { sonarqube } from "./sonarqube.ts";
import { square } from "./square.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";
import { supabase } from "./supabase.ts";
import { svix } from "./svix.ts";
import { synctera } from "./synctera.ts";
import { terraformCloud } from "./terraform-cloud.ts";
import { trello } from "./trello.ts";
import { twilio } from "./twilio/preset.ts";
import { twitch } from "./twitch.ts";
import { typeform } from "./typeform.ts";
import { vercel } from "./vercel.ts";
import { webflow } from "./webflow.ts";
import { wix } from "./wix/preset.ts";
import { woocommerce } from "./woocommerce.ts";
import { workos } from "./workos.ts";
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
    airtable,
    asana,
    auth0,
    awsSns,
    azureEventGrid,
    bigcommerce,
    bitbucket,
    box,
    bridge,
    buildkite,
    calendly,
    circleci,
    clerk,
    clickup,
    cloudflareNotifications,
    cloudflareStream,
    coinbaseCdp,
    coinbaseCommerce,
    contentful,
    convoy,
    customerIo,
    discord,
    dockerHub,
    docusign,
    dropbox,
    ebay,
    exactOnline,
    front,
    gitea,
    github,
    gitlab,
    gitlabSigned,
    gocardless,
    heroku,
    hook0,
    hookdeck,
    hubspot,
    hubspotV1,
    hubspotV2,
    intercom,
    jira,
    knock,
    launchdarkly,
    lemonsqueezy,
    linear,
    linkedin,
    mailchimp,
    mailgun,
    meta,
    mollie,
    monday,
    msGraph,
    mux,
    notion,
    nylas,
    okta,
    openai,
    outpost,
    paddle,
    pagerduty,
    paypal,
    paystack,
    persona,
    plaid,
    polar,
    pusher,
    queuePush,
    razorpay,
    resend,
    sanity,
    sendgrid,
    sentry,
    shopify,
    slack,
    snyk,
    sonarqube,
    square,
    standardWebhooks,
    stripe,
    supabase,
    svix,
    synctera,
    terraformCloud,
    trello,
    twilio,
    twitch,
    typeform,
    vercel,
    webflow,
    wix,
    woocommerce,
    workos,
    x,
    xero,
    zendesk,
    zoom,
  ].map((preset) => [preset.name, preset]),
);
