import { formatDuration, parseDuration } from "../lib/duration.ts";
import { chosenDestinationIsSigned } from "./chosen-destination.ts";
import { type Check, refuse, type Subject, warn } from "./check.ts";
import { cleanupsAreSigned } from "./signed-cleanup.ts";
import type { WebhookRouteRetry } from "./generated/webhook-route.ts";
import { WORKER_ENV } from "./names.ts";
import { joinPath, type Problem } from "./problem.ts";
import { VERIFICATION_CHECKS } from "./verification-checks.ts";

/**
 * Headers that Davit or HTTP itself writes on a delivery. A route that set one would break framing (RFC 9110 §7.6.1, RFC 9112) or make a
 * delivery look like another.
 */
const RESERVED_HEADERS =
  /^(davit-.*|webhook-(id|timestamp|signature)|idempotency-key|host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect)$/i;

const CHECKS: readonly Check[] = [
  ...VERIFICATION_CHECKS,
  chosenDestinationIsSigned,
  cleanupsAreSigned,
  function cleanupsAreJson({ route, spec }) {
    if (route.spec.payload?.format !== "Any" || spec.destinations.every(({ cleanup }) => cleanup === undefined))
      return [];
    const message = "a cleanup reads the body as JSON: every other one is refused";
    return [refuse({ path: "spec.payload.format", message, remedy: "write JSON, or leave it out" })];
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
  function clientsCanBeTold({ spec }) {
    if (spec.limits.rateLimit?.by !== "SourceIP") return [];
    return [
      warn({
        path: "spec.limits.rateLimit.by",
        message:
          "behind an ingress or load balancer all requests have its address, unless gateway.trustedProxies of the release names it",
        remedy: "make sure that it does, or use by: Route",
      }),
    ];
  },
  function scheduleFitsGiveUpAfter({ route }) {
    return scheduleProblems(route.spec.delivery?.retry, "spec.delivery.retry");
  },
];

/** A schedule whose end is never reached. @param path of `retry` */
export function scheduleProblems(retry: WebhookRouteRetry | undefined, path: string): Problem[] {
  const { schedule = [], giveUpAfter = "72h" } = retry ?? {};
  const total = schedule.reduce((sum, delay) => sum + parseDuration(delay), 0);
  if (total <= parseDuration(giveUpAfter)) return [];
  return [
    warn({
      path: `${path}.schedule`,
      message: `the schedule takes ${formatDuration(total)}, but giveUpAfter (${giveUpAfter}) ends it earlier`,
      remedy: "lengthen giveUpAfter or shorten the schedule",
    }),
  ];
}

/** Names of headers that must not be set, or are there twice. */
export function headerProblems(names: readonly string[], pathOf: (name: string, index: number) => string): Problem[] {
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

/** Checks what a schema cannot say: names that must be known, settings that contradict each other once defaults are filled in. */
export function checkSemantics(subject: Subject): Problem[] {
  return CHECKS.flatMap((check) => check(subject));
}
