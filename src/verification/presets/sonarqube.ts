import type { Preset } from "./preset.ts";

/** SonarQube: HMAC-SHA256 over the body in hex, for webhooks with a secret. */
export const sonarqube: Preset = {
  name: "sonarqube",
  title: "SonarQube",
  scheme: {
    type: "hmac",
    header: "x-sonar-webhook-hmac-sha256",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the secret of the webhook (Administration or Project Settings, Webhooks)",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/taskId", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/status" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-sonarqube-project"],
  parameters: [],
  behaviour: {
    retries: "none",
    note: "sent whatever the outcome of the analysis; changes of issues that turn a quality gate have no taskId",
  },
  sample: {
    body: '{"serverUrl":"https://sonarqube.example.com","taskId":"$id","status":"SUCCESS","analysedAt":"$nowIso","project":{"key":"shop","name":"Shop"},"qualityGate":{"name":"Sonar way","status":"OK"}}',
    headers: { "x-sonarqube-project": "shop" },
  },
  documentation: "https://docs.sonarsource.com/sonarqube-server/project-administration/webhooks/",
};
