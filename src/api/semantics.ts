import { formatDuration, parseDuration } from "../lib/duration.ts";
import { VerificationConfigError, type VerifierConfig } from "../verification/config.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { createVerifier, schemeOf } from "../verification/verifier.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";
import type { WebhookRoute } from "./generated/webhook-route.ts";
import { WORKER_ENV } from "./names.ts";
import { joinPath, type Problem } from "./problem.ts";
import { verifierConfig } from "./verifier-config.ts";

interface Subject {
  readonly route: WebhookRoute;
  readonly spec: ResolvedWebhookRouteSpec;
  readonly preset: Preset | undefined;
  readonly presets: ReadonlyMap<string, Preset>;
}

type Check = (subject: Subject) => readonly Problem[];
type Draft = Omit<Problem, "source" | "severity">;

const refuse = (draft: Draft): Problem => ({ ...draft, source: "semantic", severity: "error" });
const warn = (draft: Draft): Problem => ({ ...draft, source: "semantic", severity: "warning" });

/**
 * Headers that Davit or HTTP itself writes on a delivery. A route that set one would break framing (RFC 9110 §7.6.1, RFC 9112) or make a
 * delivery look like another.
 */
const RESERVED_HEADERS =
  /^(davit-.*|webhook-(id|timestamp|signature)|idempotency-key|host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect)$/i;

const CHECKS: readonly Check[] = [
  function providerIsKnown({ route, presets }) {
    const { provider } = route.spec.verification;
    if (provider === undefined || presets.has(provider)) return [];
    return [
      refuse({
        path: "spec.verification.provider",
        message: `unknown provider "${provider}"`,
        remedy: `use one of ${[...presets.keys()].toSorted().join(", ")}, or describe the scheme under hmac or token`,
      }),
    ];
  },
  function verifierCanBeMade({ route, spec, presets }) {
    const { provider } = route.spec.verification;
    if (provider !== undefined && !presets.has(provider)) return [];
    try {
      createVerifier(verifierConfig(spec), { idHeader: "any" });
      return [];
    } catch (error) {
      if (!(error instanceof VerificationConfigError)) throw error;
      return [refuse({ path: "spec.verification", message: error.message })];
    }
  },
  function overlapCoversTolerance({ spec, preset }) {
    if (!signsTimestamp(verifierConfig(spec), preset)) return [];
    if (parseDuration(spec.rotation.overlap) >= parseDuration(spec.verification.tolerance)) return [];
    return [
      refuse({
        path: "spec.rotation.overlap",
        message: `rotation.overlap (${spec.rotation.overlap}) must not be shorter than verification.tolerance (${spec.verification.tolerance})`,
        remedy: `write ${spec.verification.tolerance} or more`,
      }),
    ];
  },
  function overlapCoversRetries({ route, preset }) {
    const overlap = route.spec.rotation?.overlap;
    if (overlap === undefined || preset === undefined || parseDuration(overlap) >= preset.retryWindowMs) return [];
    return [
      warn({
        path: "spec.rotation.overlap",
        message: `${preset.title} may repeat a delivery for ${formatDuration(preset.retryWindowMs)}, longer than the overlap`,
        remedy: "lengthen the overlap unless the provider signs each repetition anew",
      }),
    ];
  },
  function deliveriesHaveAnId({ spec, preset }) {
    const { hmac, provider } = spec.verification;
    const isUnknown = provider !== undefined && preset === undefined;
    if (spec.dedupe.keyFrom.length > 0 || isUnknown) return [];
    return [
      warn({
        path: "spec.dedupe.keyFrom",
        message:
          hmac === undefined && provider === undefined
            ? "without keyFrom there is no dedupe: every request is a new event"
            : `without keyFrom only equal signature and body within ${spec.dedupe.weakWindow} are a duplicate`,
        remedy: "name the header or the JSON field that identifies a delivery",
      }),
    ];
  },
  function keyIdsAreUsed({ route }) {
    const { hmac, provider } = route.spec.verification;
    if (provider !== undefined || hmac?.keyIdHeader !== undefined) return [];
    return (route.spec.secretRefs ?? []).flatMap((ref, index) =>
      ref.keyId === undefined
        ? []
        : [
            warn({
              path: `spec.secretRefs[${index}].keyId`,
              message: "keyId is never looked at",
              remedy: "set verification.hmac.keyIdHeader, or remove keyId",
            }),
          ],
    );
  },
  function headersAreFree({ route }) {
    const { headers = {}, forwardHeaders = [] } = route.spec.delivery ?? {};
    return [
      ...headerProblems(Object.keys(headers), (name) => joinPath("spec.delivery.headers", name)),
      ...headerProblems(forwardHeaders, (_, index) => `spec.delivery.forwardHeaders[${index}]`),
    ];
  },
  function eventTypesAreKnown({ spec }) {
    if (spec.payload.eventTypeFrom !== undefined) return [];
    return spec.destinations.flatMap(({ eventTypes }, index) =>
      eventTypes === undefined
        ? []
        : [
            refuse({
              path: `spec.destinations[${index}].eventTypes`,
              message: "no event would match: nothing says where the type of an event is",
              remedy: "set payload.eventTypeFrom, for example json:/type",
            }),
          ],
    );
  },
  function workerVariablesAreFree({ route }) {
    const env = route.spec.worker?.dedicated?.env ?? [];
    return env.flatMap(({ name }, index) =>
      WORKER_ENV.some((own) => own === name)
        ? [
            refuse({
              path: `spec.worker.dedicated.env[${index}].name`,
              message: `${name} is set by Davit`,
              remedy: "choose another name",
            }),
          ]
        : [],
    );
  },
  function replicasAreUsed({ route }) {
    const { replicas, autoscaling } = route.spec.worker?.dedicated ?? {};
    if (replicas === undefined || autoscaling === undefined) return [];
    return [
      warn({
        path: "spec.worker.dedicated.replicas",
        message: "replicas is not used: the autoscaler sets their number",
        remedy: "remove replicas or autoscaling",
      }),
    ];
  },
  function scheduleFitsGiveUpAfter({ route }) {
    const { schedule, giveUpAfter } = route.spec.delivery?.retry ?? {};
    const total = (schedule ?? []).reduce((sum, delay) => sum + parseDuration(delay), 0);
    if (total <= parseDuration(giveUpAfter ?? "72h")) return [];
    return [
      warn({
        path: "spec.delivery.retry.schedule",
        message: `the schedule takes ${formatDuration(total)}, but giveUpAfter (${giveUpAfter ?? "72h"}) ends it earlier`,
        remedy: "lengthen giveUpAfter or shorten the schedule",
      }),
    ];
  },
];

function headerProblems(names: readonly string[], pathOf: (name: string, index: number) => string): Problem[] {
  const lower = names.map((name) => name.toLowerCase());
  return names.flatMap((name, index) => {
    const path = pathOf(name, index);
    if (RESERVED_HEADERS.test(name)) {
      return [refuse({ path, message: `header ${name} is written by Davit or by HTTP itself`, remedy: "remove it" })];
    }
    if (lower.indexOf(name.toLowerCase()) === index) return [];
    return [refuse({ path, message: `header ${name} is there twice, in different case`, remedy: "keep one" })];
  });
}

function signsTimestamp(config: VerifierConfig, preset: Preset | undefined): boolean {
  const scheme = preset === undefined ? config : schemeOf(preset.scheme);
  return scheme.type === "standard-webhooks" || (scheme.type === "hmac" && scheme.timestamp !== undefined);
}

/** Checks what a schema cannot say: names that must be known, settings that contradict each other once defaults are filled in. */
export function checkSemantics(subject: Subject): Problem[] {
  return CHECKS.flatMap((check) => check(subject));
}
