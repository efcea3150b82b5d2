import { X509Certificate, type KeyObject } from "node:crypto";

/** Longest way from a certificate to a root, itself not counted. */
const MAX_DEPTH = 6;
/** Most certificates that are read from a file. */
const MAX_CERTIFICATES = 10;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const MIN_RSA_BITS = 2_048;

export interface ChainInput {
  /** The certificate in question, then those that may stand between it and a root, in any order. */
  readonly certificates: readonly X509Certificate[];
  /** Names one of which the certificate must bear: exact, or `*.example.com` for one label before it. */
  readonly names: readonly string[];
  readonly roots: readonly X509Certificate[];
  /** Unix ms. */
  readonly now: number;
}

export type ChainResult =
  | { readonly ok: true; readonly publicKey: KeyObject; readonly notBefore: number; readonly notAfter: number }
  | {
      readonly ok: false;
      /** One line without values of the request. */
      readonly detail: string;
      /** Where the certificate that is missing may be had, when that is all there is wrong (RFC 5280 §4.2.2.1). */
      readonly issuerUrl?: string;
    };

/** Reads certificates in PEM, at most 10. What is not readable is left out. */
export function readCertificates(text: string): readonly X509Certificate[] {
  return (text.match(PEM) ?? []).slice(0, MAX_CERTIFICATES).flatMap((pem) => readCertificate(pem) ?? []);
}

/** Reads one certificate in PEM or DER. */
export function readCertificate(bytes: string | Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Whether a certificate may be believed: it bears one of the names, its key is strong enough, and a chain of certificates of authorities, all valid now, leads
 * from it to a root. Pure. Constraints on names and on the length of paths are not looked at: those of the public authorities never make a certificate good
 * for a name of somebody else.
 */
export function checkChain(input: ChainInput): ChainResult {
  const [leaf] = input.certificates;
  if (leaf === undefined) return { ok: false, detail: "what was fetched is no certificate" };
  if (!bearsName(leaf, input.names)) return { ok: false, detail: "the certificate is for another name" };
  if (!isStrong(leaf.publicKey))
    return { ok: false, detail: "the key of the certificate is too weak or of another kind" };
  if (!isValid(leaf, input.now)) return { ok: false, detail: "the certificate is not valid now" };
  const path = pathToRoot(leaf, input, []);
  if (path === undefined) return noPath(input);
  const notBefore = Math.max(...path.map(({ validFromDate }) => validFromDate.getTime()));
  const notAfter = Math.min(...path.map(({ validToDate }) => validToDate.getTime()));
  return { ok: true, publicKey: leaf.publicKey, notBefore, notAfter };
}

function noPath({ certificates, roots }: ChainInput): ChainResult {
  const all = [...certificates, ...roots];
  // The end of what was sent: nobody here has signed it.
  let end = certificates[0];
  for (let depth = 0; depth < MAX_DEPTH && end; depth++) {
    const issuer = all.find((candidate) => end && candidate !== end && isIssuedBy(end, candidate));
    if (issuer === undefined) break;
    end = issuer;
  }
  const issuerUrl = /^CA Issuers - URI:(http:\/\/[^\s"]+)$/m.exec(end?.infoAccess ?? "")?.[1];
  const detail = "no valid chain leads from the certificate to a root";
  return issuerUrl === undefined ? { ok: false, detail } : { ok: false, detail, issuerUrl };
}

/** The certificates on the way, the first one and the root included. */
function pathToRoot(
  certificate: X509Certificate,
  input: ChainInput,
  before: readonly X509Certificate[],
): readonly X509Certificate[] | undefined {
  const path = [...before, certificate];
  const root = input.roots.find((one) => isAuthority(one, input.now) && isIssuedBy(certificate, one));
  if (root) return [...path, root];
  if (path.length > MAX_DEPTH) return undefined;
  for (const issuer of input.certificates) {
    if (path.includes(issuer) || !isAuthority(issuer, input.now) || !isIssuedBy(certificate, issuer)) continue;
    const found = pathToRoot(issuer, input, path);
    if (found) return found;
  }
  return undefined;
}

function isAuthority(certificate: X509Certificate, now: number): boolean {
  return certificate.ca && isValid(certificate, now);
}

/** The names fit, and the signature is the issuer's. */
function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now <= validToDate.getTime();
}

/** RSA with at least 2,048 bits, or a curve. */
function isStrong({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === "rsa") return (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS;
  return asymmetricKeyType === "ec" || asymmetricKeyType === "ed25519";
}

/** By its alternative names; the subject counts no more (RFC 9525 §2). */
function bearsName({ subjectAltName }: X509Certificate, wanted: readonly string[]): boolean {
  const names = (subjectAltName ?? "")
    .split(", ")
    .flatMap((entry) => (entry.startsWith("DNS:") ? [entry.slice(4)] : []));
  return names.some((name) => wanted.some((pattern) => fits(name.toLowerCase(), pattern.toLowerCase())));
}

function fits(name: string, pattern: string): boolean {
  if (name === pattern) return true;
  return pattern.startsWith("*.") && name.slice(name.indexOf(".")) === pattern.slice(1);
}
