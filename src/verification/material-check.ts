import type { Material, MaterialRequest } from "./material.ts";
import { refuse, type Refusal } from "./refusal.ts";

/**
 * Whether what was fetched is what a request asked for, may be used at this time, and is a key of the kind that its provider signs with. Its chain and names
 * were checked by whoever fetched it.
 *
 * @param type as `KeyObject.asymmetricKeyType` has it
 * @param now Unix ms
 */
export function checkMaterial(
  material: Material | undefined,
  wanted: MaterialRequest,
  type: "rsa" | "ec",
  now: number,
): Material | Refusal {
  if (material?.id !== wanted.id) {
    return refuse("MaterialUnavailable", `the ${wanted.kind} that the request names was not fetched`);
  }
  const { notBefore = -Infinity, notAfter = Infinity, publicKey } = material;
  if (now < notBefore || now > notAfter) {
    return refuse("CertificateUntrusted", `the ${wanted.kind} that the request names is not valid at this time`);
  }
  if (publicKey.asymmetricKeyType === type) return material;
  return refuse("CertificateUntrusted", `the ${wanted.kind} that the request names holds no key of type ${type}`);
}
