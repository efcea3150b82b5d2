import { snsSubscriptionConfirmation, snsUnsubscribeConfirmation } from "../../handshakes/sns.ts";
import type { Preset } from "../preset.ts";
import { snsScheme } from "./scheme.ts";

/**
 * Amazon SNS over HTTPS: RSA with SHA-1 (SignatureVersion 1) or SHA-256 (2) over fields of the body, under a certificate on a host of SNS. The body is
 * JSON although the content type says text. The topic must be the route's own.
 */
export const awsSns: Preset = {
  name: "aws-sns",
  title: "Amazon SNS",
  scheme: {
    type: "custom",
    description: "Signature of the body, over Message, MessageId, Subject, Timestamp, TopicArn and Type; RSA",
    covers: { body: false, fields: ["/MessageId", "/Message", "/Subject", "/Timestamp", "/TopicArn", "/Type"] },
    signsTime: true,
    create: snsScheme,
  },
  secrets: {
    signing: "none",
    description: "nothing: SNS signs with a certificate of AWS, and the topic is a parameter",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/MessageId", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 6 * 3_600_000,
  ackBudgetMs: 15_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [] },
  statusOverrides: {},
  handshakes: [snsSubscriptionConfirmation, snsUnsubscribeConfirmation],
  showHeaders: ["x-amz-sns-message-type", "x-amz-sns-message-id", "x-amz-sns-topic-arn", "x-amz-sns-subscription-arn"],
  parameters: [
    {
      name: "topicArn",
      required: true,
      description: "ARN of the topic, as the SNS console shows it: messages of any other topic are refused",
      pattern: /^arn:aws(-[a-z]+)*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}(\.fifo)?$/,
    },
  ],
  behaviour: {
    retries:
      "by the subscription's delivery policy: three times after 20 seconds by default, an hour at most; same signature",
    danger: "4xx other than 429 is final: the message goes to the subscription's dead-letter queue, or is lost",
    note: "leave raw message delivery off, such messages are not signed; MessageAttributes and UnsubscribeURL are not covered by the signature; prefer SignatureVersion 2",
  },
  sample: {
    body: '{"Type":"Notification","MessageId":"$id","TopicArn":"arn:aws:sns:us-east-1:123456789012:MyTopic","Message":"sample","Timestamp":"$nowIso"}',
    headers: { "content-type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": "Notification" },
  },
  documentation: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
};
