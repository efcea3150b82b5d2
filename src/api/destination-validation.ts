import { isRecord } from "../lib/record.ts";
import { crdSchema } from "./crd.ts";
import { type ResolvedWebhookDestinationSpec, resolveDestinationSpec } from "./destination-defaults.ts";
import type { WebhookDestination } from "./generated/webhook-destination.ts";
import { hasErrors, type Problem } from "./problem.ts";
import { withoutNulls } from "./schema-defaults.ts";
import { headerProblems, scheduleProblems } from "./semantics.ts";
import { checkStructure, type ValidateOptions } from "./validation.ts";

/** What came of it. `destination` and `spec` are there when nothing refuses the manifest. */
export interface DestinationValidation {
  /** Errors and warnings, in the order of the checks. */
  readonly problems: readonly Problem[];
  readonly destination?: WebhookDestination;
  /** The spec with every default filled in. */
  readonly spec?: ResolvedWebhookDestinationSpec;
}

/** Checks a WebhookDestination the way the API server and the controller do together, as `validateRoute` does a route. */
export function validateDestination(
  manifest: unknown,
  { previous }: Pick<ValidateOptions, "previous"> = {},
): DestinationValidation {
  const object = withoutNulls(crdSchema("WebhookDestination"), manifest);
  const structural = checkStructure(object, previous, "WebhookDestination");
  if (!isDestination(object, structural)) return { problems: structural };
  const spec = resolveDestinationSpec(object.spec, object.metadata.name);
  const problems = checkSemantics(object, spec);
  return hasErrors(problems) ? { problems } : { problems, destination: object, spec };
}

/** An object in which the schema found nothing wrong has the type that is generated from the schema. */
function isDestination(object: unknown, structural: readonly Problem[]): object is WebhookDestination {
  return isRecord(object) && !hasErrors(structural);
}

function checkSemantics({ spec: written }: WebhookDestination, spec: ResolvedWebhookDestinationSpec): Problem[] {
  const names = spec.headersFrom.map(({ name }) => name);
  return [
    ...headerProblems(names, (_, index) => `spec.headersFrom[${index}].name`),
    ...scheduleProblems(written.retry, "spec.retry"),
  ];
}
