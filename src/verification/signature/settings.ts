import { pointerTokens } from "../../lib/json-source.ts";
import {
  DEFAULT_TOLERANCE_MS,
  VerificationConfigError,
  type SignatureConfig,
  type SignedContent,
  type VerifierOptions,
} from "../config.ts";
import type { Coverage } from "../schemes/scheme-kind.ts";
import { compileTemplate, contains, fieldForm, isDelimited, isTimestampBare, type Segment } from "../template.ts";
import type { TimestampUnit } from "../timestamp.ts";

/** Where the timestamp stands. Header names are in lower case. */
export type TimestampPlace = { readonly unit: TimestampUnit } & (
  | { readonly from: "header"; readonly name: string; readonly usualLength: boolean }
  | { readonly from: "param"; readonly name: string; readonly prefix: string; readonly usualLength: boolean }
  | { readonly from: "json"; readonly tokens: readonly string[]; readonly pointer: string }
);

type ContentSettings = Pick<SignatureSettings, "segments" | "contentOf" | "idForm" | "headerForms">;

/** Of an id that a provider's own function reads: the function says what else it must be. */
const ANY_ID = /^[\x21-\x7e]{1,256}$/;

/** A {@link SignatureConfig} as the hot path needs it: names in lower case, the template compiled. */
export interface SignatureSettings {
  readonly headers: readonly string[];
  readonly prefix: string;
  readonly prefixOnce: boolean;
  readonly separator: string | undefined;
  /** The compiled template; `undefined` when {@link contentOf} says what is signed. */
  readonly segments: readonly Segment[] | undefined;
  readonly contentOf: SignedContent | undefined;
  readonly timestamp: TimestampPlace | undefined;
  readonly idHeader: string | undefined;
  /** The id must be there, since it is part of the signed content. */
  readonly readsId: boolean;
  /** What the id must look like. */
  readonly idForm: RegExp;
  /** What a header in the signed content must look like, by the place of its segment. */
  readonly headerForms: ReadonlyMap<Segment, RegExp>;
  /** Where the id ends is certain, so that it can be believed. */
  readonly trustsId: boolean;
  readonly keyIdHeader: string | undefined;
  readonly required: readonly string[];
  readonly toleranceMs: number;
}

/**
 * Resolves and checks the settings of a signature.
 *
 * @throws VerificationConfigError when they contradict each other
 */
export function compileSettings(config: SignatureConfig, options: VerifierOptions): SignatureSettings {
  const { prefix, prefixOnce = false } = config;
  const idHeader = lower(config.idHeader ?? options.idHeader);
  const content = compileContent(config);
  check(config, content.segments, idHeader);
  return {
    ...content,
    ...idSettings(config, content, idHeader),
    headers: lowerAll([config.header, ...(config.otherHeaders ?? [])]),
    prefix,
    prefixOnce,
    separator: config.separator === "" ? undefined : config.separator,
    timestamp: config.timestamp && timestampPlace(config.timestamp, content.segments),
    keyIdHeader: lower(config.keyIdHeader),
    required: lowerAll(config.requiredHeaders ?? []),
    toleranceMs: options.toleranceMs ?? DEFAULT_TOLERANCE_MS,
  };
}

function lower(name: string | undefined): string | undefined {
  return name?.toLowerCase();
}

function lowerAll(names: readonly string[]): readonly string[] {
  return names.map((name) => name.toLowerCase());
}

function compileContent({ signedContent }: SignatureConfig): ContentSettings {
  if (typeof signedContent !== "string") {
    return { segments: undefined, contentOf: signedContent, idForm: ANY_ID, headerForms: new Map() };
  }
  const segments = compileTemplate(signedContent);
  const forms = segments.map((segment, index) => [segment, fieldForm(segments, index)] as const);
  const idForm = forms.find(([{ type }]) => type === "id")?.[1] ?? ANY_ID;
  const headerForms = new Map(forms.filter(([{ type }]) => type === "header"));
  return { segments, contentOf: undefined, idForm, headerForms };
}

function idSettings(
  config: SignatureConfig,
  { segments, contentOf }: ContentSettings,
  idHeader: string | undefined,
): Pick<SignatureSettings, "idHeader" | "readsId" | "trustsId"> {
  if (idHeader === undefined) return { idHeader, readsId: false, trustsId: false };
  const readsId = segments ? contains(segments, "id") : (contentOf?.headers?.includes(idHeader) ?? false);
  return { idHeader, readsId, trustsId: readsId && coverageOf(config, idHeader).headers.includes(idHeader) };
}

/** What a signature of these settings covers. A piece that touches another one of free length is not counted: its end can be moved. */
export function coverageOf(config: SignatureConfig, idHeader?: string): Coverage {
  const { signedContent } = config;
  if (typeof signedContent !== "string") {
    return { body: signedContent.blursBody !== true, headers: signedContent.headers ?? [] };
  }
  const segments = compileTemplate(signedContent);
  const id = (config.idHeader ?? idHeader)?.toLowerCase();
  const headers = segments.flatMap((segment, index) => {
    const name = segment.type === "header" ? segment.name : segment.type === "id" ? id : undefined;
    return name !== undefined && isDelimited(segments, index, config.timestamp?.unit) ? [name] : [];
  });
  return { body: contains(segments, "body"), headers };
}

function timestampPlace(
  { header, param, json, unit }: NonNullable<SignatureConfig["timestamp"]>,
  segments: readonly Segment[] | undefined,
): TimestampPlace {
  const usualLength = segments !== undefined && isTimestampBare(segments);
  if (header !== undefined) return { from: "header", name: header.toLowerCase(), unit, usualLength };
  if (param !== undefined) return { from: "param", name: param, prefix: `${param}=`, unit, usualLength };
  const pointer = json ?? "";
  return { from: "json", pointer, tokens: pointerTokens(pointer), unit };
}

function check(config: SignatureConfig, segments: readonly Segment[] | undefined, idHeader: string | undefined): void {
  if (config.timestamp) checkTimestampPlace(config.timestamp, config.separator);
  if (!segments) return;
  if (!contains(segments, "body")) {
    throw new VerificationConfigError("BodyNotSigned", "signedContent must contain {body}, else anybody can change it");
  }
  // A timestamp in the body is signed with the body.
  const beside = config.timestamp !== undefined && config.timestamp.json === undefined;
  if (contains(segments, "timestamp") !== beside) {
    throw new VerificationConfigError(
      "TimestampUnclear",
      "timestamp and {timestamp} in signedContent go together: a timestamp that is not signed proves nothing",
    );
  }
  if (contains(segments, "id") && idHeader === undefined) {
    throw new VerificationConfigError(
      "IdHeaderUnknown",
      "{id} needs a header in dedupe.keyFrom, which says where it is",
    );
  }
}

function checkTimestampPlace(
  { header, param, json }: NonNullable<SignatureConfig["timestamp"]>,
  separator: string | undefined,
): void {
  if ([header, param, json].filter((place) => place !== undefined).length !== 1) {
    throw new VerificationConfigError("TimestampUnclear", "timestamp needs exactly one of header, param and json");
  }
  if (param !== undefined && !separator) {
    throw new VerificationConfigError("TimestampUnclear", "timestamp.param needs a separator");
  }
}
