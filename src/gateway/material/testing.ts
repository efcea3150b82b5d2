import { generateKeyPairSync, sign, X509Certificate, type KeyObject } from "node:crypto";

// Certificates for the tests of this folder, made with the little of DER (X.690) that they need; not part of the build.

/** A certificate with its private key. */
export interface TestCertificate {
  readonly certificate: X509Certificate;
  readonly pem: string;
  readonly privateKey: KeyObject;
  readonly name: string;
}

export interface CertificateOptions {
  /** Common name of the subject. */
  readonly name: string;
  /** Default: signed by itself. */
  readonly issuer?: TestCertificate;
  readonly isAuthority?: boolean;
  readonly dnsNames?: readonly string[];
  /** Where the issuer's certificate is said to lie. */
  readonly issuerUrl?: string;
  readonly from?: Date;
  readonly to?: Date;
  readonly keys?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
}

const RSA_SHA256 = "2a864886f70d01010b";
let serial = 1;

/** Keys are made slowly: one pair for all that need none of their own. */
const SHARED_KEYS = generateKeyPairSync("rsa", { modulusLength: 2_048 });

/** Makes a certificate, signed with RSA and SHA-256. */
export function makeCertificate(options: CertificateOptions): TestCertificate {
  const { name, issuer, from = new Date("2020-01-01"), to = new Date("2040-01-01"), keys = SHARED_KEYS } = options;
  const algorithm = sequence(objectId(RSA_SHA256), der(0x05, Buffer.alloc(0)));
  const body = sequence(
    der(0xa0, integer(2)),
    integer((serial += 1)),
    algorithm,
    nameOf(issuer?.name ?? name),
    sequence(time(from), time(to)),
    nameOf(name),
    keys.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions(options))),
  );
  const signature = sign("sha256", body, issuer?.privateKey ?? keys.privateKey);
  const bytes = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const certificate = new X509Certificate(bytes);
  return { certificate, pem: certificate.toString(), privateKey: keys.privateKey, name };
}

function extensions({ isAuthority = false, dnsNames = [], issuerUrl }: CertificateOptions): Buffer[] {
  const constraints = extension("551d13", true, sequence(...(isAuthority ? [der(0x01, Buffer.from([0xff]))] : [])));
  const names = sequence(...dnsNames.map((dns) => der(0x82, Buffer.from(dns))));
  const access = sequence(sequence(objectId("2b06010505073002"), der(0x86, Buffer.from(issuerUrl ?? ""))));
  return [
    constraints,
    ...(dnsNames.length > 0 ? [extension("551d11", false, names)] : []),
    ...(issuerUrl === undefined ? [] : [extension("2b06010505070101", false, access)]),
  ];
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(objectId(id), ...(critical ? [der(0x01, Buffer.from([0xff]))] : []), der(0x04, value));
}

function nameOf(text: string): Buffer {
  return sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from(text)))));
}

function time(at: Date): Buffer {
  return der(0x18, Buffer.from(`${at.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`));
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.from([value >> 8, value & 0xff].slice(value < 128 ? 1 : 0)));
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
