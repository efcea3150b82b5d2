import type { Preset } from "./preset.ts";

/**
 * Docker Hub: nothing is signed and no header can be set, so a token of one's own stands in the URL (`?token=…`). The only event is a push. Never call the
 * body's `callback_url`: whoever knows the URL could have written it.
 */
export const dockerHub: Preset = {
  name: "docker-hub",
  title: "Docker Hub",
  scheme: { type: "query-token", parameter: "token" },
  secrets: {
    signing: "shared",
    description: "a long random text of your own; it stands in the URL given to Docker Hub as ?token=…",
  },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/repository/repo_name", signed: false },
    { from: "json", pointer: "/push_data/pushed_at", signed: false },
    { from: "json", pointer: "/push_data/tag", signed: false },
  ],
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "not documented",
    note: "the body is not authenticated; URLs end up in logs of proxies: rotate the token",
  },
  sample: {
    body: '{"callback_url":"https://example.com/acme/shop/hook/1/","push_data":{"pushed_at":$now,"pusher":"ci","tag":"latest"},"repository":{"name":"shop","namespace":"acme","repo_name":"acme/$id","status":"Active"}}',
  },
  documentation: "https://docs.docker.com/docker-hub/repos/manage/webhooks/",
};
