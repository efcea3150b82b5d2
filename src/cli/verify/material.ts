import { createPublicKey, type JsonWebKey, X509Certificate } from "node:crypto";
import type { Material } from "../../verification/material.ts";
import { CommandError } from "../command.ts";
import { readInput } from "../input-file.ts";

/**
 * Reads public material of a provider that was fetched by hand: a certificate or public key in PEM, a JWK, or a JSON object that holds one as `key`
 * (Plaid's answer). Its trust is the caller's: no chain is checked.
 *
 * @returns `id` is the JWK's key id, or empty
 * @throws CommandError when it is none of these
 */
export async function readMaterial(file: string): Promise<Material> {
  const text = (await readInput("--material", file)).toString().trim();
  try {
    if (text.includes("BEGIN CERTIFICATE")) return ofCertificate(new X509Certificate(text));
    if (text.startsWith("-----BEGIN")) return { id: "", publicKey: createPublicKey(text) };
    return ofJwk(JSON.parse(text) as Jwk);
  } catch (error) {
    throw new CommandError(`--material: ${file} holds no certificate, public key (PEM) or JWK (JSON)`, {
      cause: error,
    });
  }
}

type Jwk = JsonWebKey & { readonly kid?: string; readonly key?: Jwk };

function ofCertificate(certificate: X509Certificate): Material {
  return {
    id: "",
    publicKey: certificate.publicKey,
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

function ofJwk(jwk: Jwk): Material {
  if (jwk.key !== undefined) return ofJwk(jwk.key);
  return { id: jwk.kid ?? "", publicKey: createPublicKey({ key: jwk, format: "jwk" }) };
}
