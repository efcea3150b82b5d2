import type { Vector } from "../../support/vectors.ts";
import type { Mutation } from "./mutation.ts";

/**
 * Where a certificate is said to lie, for schemes that do not sign it: the signature stays right whatever is written here, so only the pin stands
 * between an attacker's certificate and an accepted event.
 */
export function certificateMutations(vector: Vector): readonly Mutation[] {
  if (vector.scheme === "paypal-rsa") return certificateUrls("api.paypal.com", PAYPAL_PATH).map(intoHeader(vector));
  if (!vector.scheme.startsWith("sns-")) return [];
  return certificateUrls("sns.us-east-1.amazonaws.com", "/SimpleNotificationService-test.pem").map(intoBody(vector));
}

const PAYPAL_PATH = "/v1/notifications/certs/CERT-360caa42-fca2a594-1d93a270";

function intoHeader({ headers }: Vector): (url: string) => Mutation {
  return (url) => ({
    what: `certificate at ${JSON.stringify(url)}`,
    changes: { headers: { ...headers, "paypal-cert-url": url } },
  });
}

function intoBody({ bodyBase64 }: Vector): (url: string) => Mutation {
  const message = JSON.parse(Buffer.from(bodyBase64, "base64").toString("utf8")) as object;
  return (url) => ({
    what: `certificate at ${JSON.stringify(url)}`,
    changes: {
      bodyBase64: Buffer.from(JSON.stringify({ ...message, SigningCertURL: url })).toString("base64"),
    },
  });
}

/** The host of the provider in places where it is not the host, and hosts that look like it. */
function certificateUrls(host: string, path: string): readonly string[] {
  const [, ...domain] = host.split(".");
  const parent = domain.slice(-2).join(".");
  return [
    `https://${host}${path}`,
    `http://${host}${path}`,
    `ftp://${host}${path}`,
    `file://${host}${path}`,
    `//${host}${path}`,
    `${host}${path}`,
    path,
    "",
    `https://${host}.evil.example${path}`,
    `https://${host}-evil.example${path}`,
    `https://evil${parent}${path}`,
    `https://evil-${host}${path}`,
    `https://evil.example/${host}${path}`,
    `https://evil.example?${host}${path}`,
    `https://evil.example#${host}${path}`,
    `https://evil.example#@${host}${path}`,
    `https://evil.example\\@${host}${path}`,
    `https://${host}\\@evil.example${path}`,
    `https://${host}@evil.example${path}`,
    `https://${host}:x@evil.example${path}`,
    `https://${host}%2eevil.example${path}`,
    `https://${host}%00.evil.example${path}`,
    `https://evil.example\t.${parent}${path}`,
    `https://127.0.0.1${path}`,
    `https://[::1]${path}`,
    `https://localhost${path}`,
    `https://${parent}.evil.example${path}`,
    `https://x.y.z.${parent}.example${path}`,
    `https://sns.evil.s3.amazonaws.com${path}`,
    `https://evil.s3.amazonaws.com${path}`,
    `https://s3.amazonaws.com/sns.us-east-1.amazonaws.com${path}`,
    `https:/${host}${path}`,
    `https:${host}${path}`,
    ` https://${host}${path}`,
    `https://${host}${path} `,
    `https://${host}${path}\n`,
    `https://${host}${path}?x=https://evil.example`,
    `https://${host}${path}#evil`,
    `https://${host}:8443${path}`,
    `https://${host}/x`,
    `https://${host}`,
    `data:,${host}${path}`,
  ];
}
