import { fieldOf, isRecord } from "../lib/record.ts";
import { presets as knownPresets } from "../verification/presets/index.ts";
import type { Preset } from "../verification/presets/preset.ts";
import { checkRules } from "./cel-check.ts";
import { crdSchema, type Kind } from "./crd.ts";
import { type ResolvedWebhookRouteSpec, resolveSpec } from "./defaults.ts";
import type { WebhookRoute } from "./generated/webhook-route.ts";
import { API_VERSION } from "./names.ts";
import { hasErrors, type Problem } from "./problem.ts";
import { checkSchema, isUnknownField } from "./schema-check.ts";
import { withoutNulls, withSchemaDefaults } from "./schema-defaults.ts";
import { checkSemantics } from "./semantics.ts";

export interface ValidateOptions {
  /** The object this one replaces: rules about changes are then checked too. */
  readonly previous?: unknown;
  readonly presets?: ReadonlyMap<string, Preset>;
}

/** What came of it. `route` and `spec` are there when nothing refuses the manifest. */
export interface Validation {
  /** Errors and warnings, in the order of the checks. */
  readonly problems: readonly Problem[];
  readonly route?: WebhookRoute;
  /** The spec with every default filled in. */
  readonly spec?: ResolvedWebhookRouteSpec;
}

/**
 * Checks a WebhookRoute the way the API server and the controller do together: schema, CEL rules, then what only Davit can tell. Semantic
 * checks run on an object that the schema accepts.
 */
export function validateRoute(manifest: unknown, options: ValidateOptions = {}): Validation {
  const object = withoutNulls(crdSchema("WebhookRoute"), manifest);
  const structural = checkStructure(object, options.previous);
  if (!isRoute(object, structural)) return { problems: structural };
  const route = object;
  const presets = options.presets ?? knownPresets;
  const preset = presets.get(route.spec.verification.provider ?? "");
  const spec = resolveSpec(route.spec, preset);
  const problems = checkSemantics({ route, spec, preset, presets });
  return hasErrors(problems) ? { problems } : { problems, route, spec };
}

/** An object in which the schema found nothing wrong has the type that is generated from the schema. */
function isRoute(object: unknown, structural: readonly Problem[]): object is WebhookRoute {
  return isRecord(object) && !hasErrors(structural);
}

/** The part that the API server checks by itself. */
export function checkStructure(manifest: unknown, previous?: unknown, kind: Kind = "WebhookRoute"): Problem[] {
  const header = checkHeader(manifest, kind);
  if (header.length > 0) return header;
  const schema = crdSchema(kind);
  const object = withoutNulls(schema, manifest);
  const problems = checkSchema(kind, object);
  const invalid = problems.filter((problem) => !isUnknownField(problem)).map((problem) => problem.path);
  const old = previous === undefined ? undefined : withSchemaDefaults(schema, withoutNulls(schema, previous));
  return [...problems, ...checkRules(schema, withSchemaDefaults(schema, object), old, invalid)];
}

function checkHeader(object: unknown, kind: Kind): Problem[] {
  const base = { source: "schema", severity: "error" } as const;
  if (fieldOf(object, "apiVersion") !== API_VERSION || fieldOf(object, "kind") !== kind) {
    return [{ ...base, path: "apiVersion", message: `expected ${API_VERSION}, kind ${kind}` }];
  }
  const name = fieldOf(fieldOf(object, "metadata"), "name");
  if (typeof name === "string" && /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)) return [];
  return [
    { ...base, path: "metadata.name", message: "must be a DNS subdomain: lower-case letters, digits, '-' and '.'" },
  ];
}
