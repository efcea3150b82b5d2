import type { KeyUse } from "../verification/types.ts";
import { type Check, refuse, type Subject, warn } from "./check.ts";
import type { Problem } from "./problem.ts";

const PATH = "spec.secretRefs";

/** What a key with this use is for, in the words of a remedy. */
const PURPOSE: Readonly<Record<Exclude<KeyUse, "Signing">, string>> = {
  VerifyToken: "the token that is compared when the provider asks who is there",
  ApiCredential: "the credential with which its public keys are fetched",
};

/** Uses that the scheme reads. A provider without a signing secret may still need others. */
function usesOf({ preset }: Subject): ReadonlySet<KeyUse> {
  if (preset === undefined) return new Set(["Signing"]);
  const { signing, others = [] } = preset.secrets;
  // A token that is not there falls back to the signing key.
  return new Set([...(signing !== "none" || others.includes("VerifyToken") ? (["Signing"] as const) : []), ...others]);
}

/** Keys that the scheme needs: a route without them would answer 503 for ever. */
export const secretsAreNamed: Check = (subject) => {
  const { spec, preset } = subject;
  const { none, provider } = spec.verification;
  if (none !== undefined || (provider !== undefined && preset === undefined)) return [];
  const { signing, description, others = [] } = preset?.secrets ?? { signing: "shared", description: "the key" };
  if (signing !== "none" && !has(subject, "Signing")) {
    return [missing(subject, "Signing", `name the Secret that holds ${description}`)];
  }
  return others.flatMap((use) => (has(subject, use) ? [] : otherIsMissing(subject, use)));
};

function has({ spec }: Subject, use: KeyUse): boolean {
  return spec.secretRefs.some((ref) => ref.use === use);
}

function titleOf({ preset }: Subject): string {
  return preset?.title ?? "this verification";
}

function missing(subject: Subject, use: KeyUse, remedy: string): Problem {
  return refuse({ path: PATH, message: `${titleOf(subject)} needs a key with use ${use}`, remedy });
}

function otherIsMissing(subject: Subject, use: Exclude<KeyUse, "Signing">): Problem {
  const { signing, description } = subject.preset?.secrets ?? {};
  const remedy = `name the Secret that holds ${signing === "none" ? description : PURPOSE[use]}, with use: ${use}`;
  if (use !== "VerifyToken" || !has(subject, "Signing")) return missing(subject, use, remedy);
  const message = `no key has use VerifyToken: what ${titleOf(subject)} shows when it asks who is there is compared with the signing keys`;
  return warn({ path: PATH, message, remedy: `${remedy}, unless it is the same` });
}

/** Keys that nobody reads. */
export const secretsAreRead: Check = (subject) => {
  const { spec, preset } = subject;
  if (spec.verification.provider !== undefined && preset === undefined) return [];
  const uses = usesOf(subject);
  return spec.secretRefs.flatMap(({ use }, index) =>
    uses.has(use)
      ? []
      : [
          warn({
            path: `${PATH}[${index}]`,
            message: `${titleOf(subject)} reads no key with use ${use}`,
            remedy: uses.size === 0 ? "remove it" : `remove it, or write use: ${[...uses].join(" or ")}`,
          }),
        ],
  );
};
