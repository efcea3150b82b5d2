import type { MaterialSource } from "../../gateway/material/material-source.ts";
import { refuse } from "../../verification/refusal.ts";
import { publicMaterial, type SignatureCase } from "../../verification/vectors.ts";

/** What a case says of public keys: a certificate, or a JWK as its secret. */
export type MaterialCase = Pick<SignatureCase, "secret" | "extra" | "now">;

/** Stands in for the providers' servers: hands out the certificate or JWK of the present case, and knows no other. Chains are not checked. */
export function caseMaterial(present: () => MaterialCase): MaterialSource {
  return {
    obtain: (wanted) => {
      const material = publicMaterial(present(), wanted);
      if (!("ok" in material)) return Promise.resolve(material);
      return Promise.resolve(refuse("CertificateUntrusted", "the provider does not know it"));
    },
  };
}
