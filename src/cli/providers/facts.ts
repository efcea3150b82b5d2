import { formatDuration } from "../../lib/duration.ts";
import { sourceName } from "../../verification/explain/dedupe.ts";
import type { DedupeSource, Preset, WithoutId } from "../../verification/presets/preset.ts";
import { describeScheme, schemeOf, signsTime, signsUrl } from "../../verification/verifier.ts";

/** Everything that is known of a provider, as plain data: functions and patterns in words. Where parameters choose a scheme, it is the default one. */
export interface ProviderFacts {
  readonly name: string;
  readonly title: string;
  readonly documentation: string;
  readonly signature: {
    /** Where it stands, mostly a header. */
    readonly place: string;
    readonly algorithm: string;
    /** What is signed: a template, or words. */
    readonly content: string;
    /** Largest distance of the signed time from the clock; absent where none is signed or checked. */
    readonly tolerance?: string;
    /** `publicUrl` must be the URL that is set up at the provider. */
    readonly signsUrl: boolean;
  };
  readonly secret: { readonly kind: string; readonly description: string; readonly others: readonly string[] };
  readonly parameters: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly description: string;
    readonly values?: readonly string[];
    readonly pattern?: string;
  }[];
  readonly id: { readonly parts: readonly string[]; readonly withoutId: string };
  readonly handshakes: readonly { readonly name: string; readonly method: string; readonly signed: boolean }[];
  readonly answer: {
    readonly status: number;
    readonly contentType?: string;
    readonly body?: string;
    /** The provider waits this long. */
    readonly within: string;
    /** Statuses that differ from the usual ones, by reason. */
    readonly refusals: Readonly<Record<string, number>>;
  };
  readonly repeatsFor: string;
  readonly retries: string;
  readonly danger?: string;
  readonly note?: string;
  readonly payload: {
    readonly format: string;
    readonly requiredFields: readonly string[];
    readonly eventTypeFrom?: string;
  };
  readonly shownHeaders: readonly string[];
}

/** What a scheme that is a function of its own has as its algorithm. */
export const OWN_ALGORITHM = "of its own";

const WITHOUT_ID: Readonly<Record<WithoutId, string>> = {
  Signature: "an equal signature and body is a duplicate",
  Body: "an equal body is a duplicate",
  None: "every request is a new event",
};

/** What is known of a provider, for `davit providers` and `docs/providers.md`. */
export function factsOf(preset: Preset): ProviderFacts {
  const { behaviour, payload, ack } = preset;
  return {
    name: preset.name,
    title: preset.title,
    documentation: preset.documentation,
    signature: signatureOf(preset),
    secret: {
      kind: preset.secrets.signing,
      description: preset.secrets.description,
      others: preset.secrets.others ?? [],
    },
    parameters: preset.parameters.map(({ pattern, ...rest }) => ({
      ...rest,
      ...(pattern && { pattern: pattern.source }),
    })),
    id: { parts: preset.dedupe.map(partOf), withoutId: WITHOUT_ID[preset.withoutId] },
    handshakes: preset.handshakes.map(({ name, method, signed }) => ({ name, method, signed })),
    answer: { ...ack, within: formatDuration(preset.ackBudgetMs), refusals: { ...preset.statusOverrides } },
    repeatsFor: formatDuration(preset.retryWindowMs),
    ...behaviour,
    payload,
    shownHeaders: preset.showHeaders,
  };
}

function signatureOf({ scheme, toleranceMs }: Preset): ProviderFacts["signature"] {
  const resolved = schemeOf(scheme);
  const { place, algorithm, content } = describeScheme(resolved);
  const isTimed = signsTime(resolved) && toleranceMs > 0;
  return {
    place,
    algorithm,
    content,
    signsUrl: signsUrl(resolved),
    ...(isTimed && { tolerance: formatDuration(toleranceMs) }),
  };
}

/** `json:/id`, `header:x-id (not signed)`, `form:Sid (if there)`. */
function partOf(source: DedupeSource): string {
  const remarks = [...(source.signed ? [] : ["not signed"]), ...(source.optional ? ["if there"] : [])];
  return sourceName(source) + (remarks.length === 0 ? "" : ` (${remarks.join(", ")})`);
}
