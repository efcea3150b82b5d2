import type { WebhookRoute } from "../../api/generated/webhook-route.ts";
import type { SecretObject } from "../../api/secret.ts";
import { compile } from "../../routes/compile.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { presets } from "../../verification/presets/index.ts";
import type { KeyUse } from "../../verification/types.ts";
import { CommandError } from "../command.ts";

/** What the route of a recorded request is made of. */
export interface CaseRoute {
  readonly provider: string;
  readonly host: string;
  /** Without query. */
  readonly path: string;
  readonly publicUrl: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Values of keys, the first one current. */
  readonly secrets: readonly { readonly value: Buffer; readonly use: KeyUse; readonly keyId?: string }[];
  /** `undefined`: the preset's. 0: no time is checked. */
  readonly toleranceMs?: number | undefined;
  /** Distinguishes routes. */
  readonly name: string;
}

const METHODS: NonNullable<WebhookRoute["spec"]["exposure"]["methods"]> = ["DELETE", "GET", "PATCH", "POST", "PUT"];
const NAMESPACE = "cases";

/**
 * Compiles the route as a controller would, from a manifest and Secrets. It takes any method and any body, so that nothing but the signature decides.
 *
 * @throws CommandError with the problems when no route can be made of it
 */
export function compileCaseRoute(settings: CaseRoute, now: number): RouteEntry {
  const result = compile({
    route: manifestOf(settings),
    namespace: NAMESPACE,
    namespaceUid: `${NAMESPACE}-uid`,
    secrets: secretsOf(settings),
    now,
    releaseKey: Buffer.from("cases"),
  });
  if (!result.ok) {
    const problems = result.problems.map(({ path, message }) => `${path}: ${message}`);
    throw new CommandError(`no route: ${problems.join("; ")}`);
  }
  const { toleranceMs } = settings;
  return { ...result.entry, ...(toleranceMs !== undefined && { toleranceMs }) };
}

function manifestOf({ provider, host, path, publicUrl, parameters, secrets, name }: CaseRoute): WebhookRoute {
  // A route must name a Secret where the provider has one, even where a case has none: its key is then missing.
  const named = secrets.length > 0 || presets.get(provider)?.secrets.signing === "none" ? secrets : [NO_SECRET];
  return {
    apiVersion: "davit.dev/v1alpha1",
    kind: "WebhookRoute",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      exposure: { host, path, methods: METHODS },
      verification: { provider, publicUrl, ...(Object.keys(parameters).length > 0 && { parameters }) },
      ...(named.length > 0 && { secretRefs: named.map(secretRef) }),
      payload: { format: "Any" },
      destinations: [{ name: "own", url: "https://destination.example/" }],
    },
  };
}

function secretRef({ use, keyId }: CaseRoute["secrets"][number], index: number) {
  return { name: secretName(index), key: KEY, use, ...(keyId !== undefined && { keyId }) };
}

const KEY = "value";
const NO_SECRET: CaseRoute["secrets"][number] = { value: Buffer.alloc(0), use: "Signing" };

function secretName(index: number): string {
  return `case-${index}`;
}

function secretsOf({ secrets }: CaseRoute): ReadonlyMap<string, SecretObject> {
  return new Map(
    secrets.map(({ value }, index) => {
      const name = secretName(index);
      return [name, { namespace: NAMESPACE, name, labels: {}, data: new Map([[KEY, value]]) }];
    }),
  );
}
