import type { CleanupPolicySpec } from "../../../api/generated/cleanup-policy.ts";
import { USE_LABEL } from "../../../api/names.ts";
import type { SecretObject } from "../../../api/secret.ts";
import type { Refusal } from "../../webhook-route/exposure/host-policy.ts";
import { CREDENTIALS_KEYS } from "./cleaner-deployment.ts";

interface Wanted {
  readonly path: string;
  readonly name: string;
  readonly keys: readonly string[];
}

/** Names of the Secrets that a policy refers to. */
export function policySecretNames(spec: CleanupPolicySpec): readonly string[] {
  return [...new Set(wantedSecrets(spec).map(({ name }) => name))];
}

/** References of a policy that do not resolve: no such Secret, nobody has permitted its use, or a key is missing or empty. Names, never values. */
export function unresolvedSecrets(
  spec: CleanupPolicySpec,
  secrets: ReadonlyMap<string, SecretObject>,
): readonly Refusal[] {
  return wantedSecrets(spec).flatMap((wanted) => problemOf(wanted, secrets.get(wanted.name)) ?? []);
}

function wantedSecrets({ s3 }: CleanupPolicySpec): readonly Wanted[] {
  const [id, secret] = CREDENTIALS_KEYS;
  const { credentialsSecretRef: credentials, caSecretRef: ca } = s3;
  return [
    ...(credentials ? [{ path: "spec.s3.credentialsSecretRef", name: credentials.name, keys: [id, secret] }] : []),
    ...(ca ? [{ path: "spec.s3.caSecretRef", name: ca.name, keys: [ca.key] }] : []),
  ];
}

function problemOf({ path, name, keys }: Wanted, secret: SecretObject | undefined): Refusal | undefined {
  if (secret === undefined) {
    return { reason: "SecretNotFound", message: `${path}: Secret ${name} does not exist: create it` };
  }
  if (secret.labels[USE_LABEL] !== "true") {
    const message = `${path}: Secret ${name} lacks the label ${USE_LABEL}: "true", by which its owner permits Davit to use it`;
    return { reason: "SecretNotLabelled", message };
  }
  const missing = keys.find((key) => !secret.data.has(key));
  if (missing !== undefined) {
    return { reason: "SecretKeyMissing", message: `${path}: Secret ${name} has no key ${missing}: add it` };
  }
  const empty = keys.find((key) => secret.data.get(key)?.length === 0);
  if (empty === undefined) return undefined;
  return { reason: "SecretEmpty", message: `${path}: key ${empty} of Secret ${name} is empty: put the value into it` };
}
