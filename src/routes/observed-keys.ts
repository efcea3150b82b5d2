import type { Reason } from "../api/conditions.ts";
import type { ResolvedWebhookRouteSpec } from "../api/defaults.ts";
import { USE_LABEL } from "../api/names.ts";
import type { SecretObject } from "../api/secret.ts";
import { type ObservedKey, stripLineEnd } from "./key-ring.ts";

/** A reference that yields no key. The route stays published with the keys it has left; `SecretsResolved` is false at once. */
export interface Unresolved {
  readonly path: string;
  readonly reason: Extract<
    Reason,
    "SecretNotFound" | "SecretKeyMissing" | "SecretEmpty" | "SecretNotLabelled" | "SecretExpired" | "TokenUnusable"
  >;
  readonly message: string;
}

/** Secrets of the route's namespace, by name. */
export type Secrets = ReadonlyMap<string, SecretObject>;

type SecretRef = ResolvedWebhookRouteSpec["secretRefs"][number];
/** A value, or why there is none; both when the value is past its time. */
type Value = { readonly value?: Buffer; readonly problem?: Pick<Unresolved, "reason" | "message"> };

export interface Observed {
  readonly keys: readonly ObservedKey[];
  readonly unresolved: readonly Unresolved[];
}

const NEXT = ".next";

/**
 * Reads the keys that `secretRefs` name. The first reference of a use is current, later ones are previous, `<key>.next` of any is next.
 *
 * @param basic read `username` and `password`; the key is then `username:password`, as HTTP Basic sends it (RFC 7617)
 */
export function observeKeys(
  refs: readonly SecretRef[],
  secrets: Secrets,
  { basic, now }: { readonly basic: boolean; readonly now: number },
): Observed {
  const current: ObservedKey[] = [];
  const next: ObservedKey[] = [];
  const unresolved: Unresolved[] = [];
  const uses = new Set<string>();
  for (const [index, ref] of refs.entries()) {
    const read = (suffix: string): Value =>
      basic ? readCredentials(secrets, ref.name, suffix) : readValue(secrets, ref.name, `${ref.key ?? ""}${suffix}`);
    const notAfter = ref.notAfter === undefined ? undefined : Date.parse(ref.notAfter);
    const key = {
      use: ref.use,
      ...(ref.keyId === undefined ? {} : { keyId: ref.keyId }),
      ...(notAfter === undefined ? {} : { notAfter }),
    };
    const found = expire(read(""), notAfter, now);
    if (found.problem) unresolved.push({ path: `spec.secretRefs[${index}]`, ...found.problem });
    if (found.value) current.push({ ...key, value: found.value, state: uses.has(ref.use) ? "previous" : "current" });
    uses.add(ref.use);
    const ahead = read(NEXT).value;
    if (ahead) next.push({ ...key, value: ahead, state: "next" });
  }
  return { keys: [...current, ...next], unresolved };
}

interface KeyRef {
  readonly name: string;
  readonly key: string;
}

/** Reads a value that goes out with deliveries, for which its Secret needs the label that permits its use. */
export function readUsable(ref: KeyRef, secrets: Secrets, path: string): { readonly value: Buffer } | Unresolved {
  const refusal = notLabelled(ref, secrets);
  if (refusal) return { path, ...refusal };
  const { value, problem } = readValue(secrets, ref.name, ref.key);
  return value ? { value } : { path, reason: problem?.reason ?? "SecretEmpty", message: problem?.message ?? "" };
}

function notLabelled({ name }: KeyRef, secrets: Secrets): Value["problem"] {
  const secret = secrets.get(name);
  if (secret === undefined || secret.labels[USE_LABEL] === "true") return undefined;
  const message = `Secret ${name} lacks the label ${USE_LABEL}: "true", which permits routes to use it: kubectl label secret ${name} ${USE_LABEL}=true`;
  return { reason: "SecretNotLabelled", message };
}

/** Reads an outgoing signing key, which needs the label that permits its use. */
export function observeSigningKey(ref: KeyRef, secrets: Secrets, path: string): Observed {
  const refusal = notLabelled(ref, secrets);
  if (refusal) return { keys: [], unresolved: [{ path, ...refusal }] };
  const found = readValue(secrets, ref.name, ref.key);
  const ahead = readValue(secrets, ref.name, `${ref.key}${NEXT}`);
  return {
    keys: [
      ...(found.value ? [{ value: found.value, use: "Signing" as const, state: "current" as const }] : []),
      ...(ahead.value ? [{ value: ahead.value, use: "Signing" as const, state: "next" as const }] : []),
    ],
    unresolved: found.problem ? [{ path, ...found.problem }] : [],
  };
}

function readValue(secrets: Secrets, name: string, key: string): Value {
  const secret = secrets.get(name);
  if (secret === undefined) return none("SecretNotFound", `Secret ${name} does not exist: create it`);
  const bytes = secret.data.get(key);
  if (bytes === undefined) {
    const there = [...secret.data.keys()].join(", ") || "nothing";
    return none("SecretKeyMissing", `Secret ${name} has no key ${key}; it has: ${there}`);
  }
  const value = stripLineEnd(bytes);
  return value.length > 0 ? { value } : none("SecretEmpty", `key ${key} of Secret ${name} is empty: set its value`);
}

function readCredentials(secrets: Secrets, name: string, suffix: string): Value {
  const advance = readValue(secrets, name, `username${suffix}`);
  const user = advance.value ? advance : readValue(secrets, name, "username");
  const password = readValue(secrets, name, `password${suffix}`);
  if (!user.value) return user;
  if (!password.value) return password;
  return { value: Buffer.concat([user.value, Buffer.from(":"), password.value]) };
}

function none(reason: Unresolved["reason"], message: string): Value {
  return { problem: { reason, message } };
}

/** A key past its `notAfter` is still observed, so that it ends there and not after an overlap; it just counts as unresolved too. */
function expire(found: Value, notAfter: number | undefined, now: number): Value {
  if (!found.value || notAfter === undefined || notAfter > now) return found;
  return { ...found, ...none("SecretExpired", "notAfter has passed: name a newer key") };
}
