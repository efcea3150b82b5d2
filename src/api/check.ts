import type { Preset } from "../verification/presets/preset.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";
import type { WebhookRoute } from "./generated/webhook-route.ts";
import type { Problem } from "./problem.ts";

/** A route that the schema accepts, as it is written and with its defaults. */
export interface Subject {
  readonly route: WebhookRoute;
  readonly spec: ResolvedWebhookRouteSpec;
  /** The one `verification.provider` names. */
  readonly preset: Preset | undefined;
  readonly presets: ReadonlyMap<string, Preset>;
}

/** Something that a schema cannot say. */
export type Check = (subject: Subject) => readonly Problem[];

type Draft = Omit<Problem, "source" | "severity">;

/** A problem that refuses the manifest. */
export function refuse(draft: Draft): Problem {
  return { ...draft, source: "semantic", severity: "error" };
}

/** A problem that is shown and refuses nothing. */
export function warn(draft: Draft): Problem {
  return { ...draft, source: "semantic", severity: "warning" };
}
