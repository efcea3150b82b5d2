import type { Material } from "../material.ts";
import type { SignedRequest, Verdict, Verifier } from "../types.ts";
import { finding, type Finding } from "./finding.ts";

type Refused = Extract<Verdict, { ok: false }>;

/** What is the matter with a certificate or public key, for schemes that need one from the provider. */
export function materialFinding(
  verifier: Verifier,
  request: SignedRequest,
  material: readonly Material[],
  now: number,
): Finding | undefined {
  const needed = verifier.needs?.(request);
  if (needed === undefined || "ok" in needed) return undefined;
  const { kind, url, id } = needed;
  const shown = kind === "certificate" ? "certificate" : "key (JWK)";
  if (material.length === 0) return finding("MaterialNeeded", { kind: shown, url });
  if (material.every((one) => !isValidAt(one, now))) return finding("MaterialPeriod", { kind: shown });
  // A JWK that names itself by a key id must be the one that the token names.
  const other = material.every((one) => one.id !== "" && !id.endsWith(one.id));
  return other ? finding("MaterialOther", { kind: shown, id: lastWord(id) }) : undefined;
}

/** A certificate's host, or a sender that is somebody else. */
export function trustFinding({ reason, detail }: Refused): Finding | undefined {
  if (reason === "CertificateUntrusted") return finding("CertificateHost", { detail });
  return reason === "SenderMismatch" ? finding("SenderDiffers", { detail }) : undefined;
}

function isValidAt({ notBefore, notAfter }: Material, now: number): boolean {
  return (notBefore === undefined || now >= notBefore) && (notAfter === undefined || now <= notAfter);
}

/** The key id of `URL kid`, or the URL. */
function lastWord(id: string): string {
  return id.split(/[\s#]/).at(-1) ?? id;
}
