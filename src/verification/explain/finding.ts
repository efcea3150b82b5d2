/**
 * Every sentence that `davit verify` can say, by code. `{name}` is filled in with a fact: names, numbers, URLs without their query; never a secret, a
 * signature or a body. Each has a test with an input that produces it.
 */
export const MESSAGES = {
  Valid: "the signature matches",
  KeyPrevious:
    "matches the *previous* key: the sender still signs with the old secret, which is accepted only until its overlap ends; give it the new one",
  KeyNext: "matches the *next* key: the sender signs with the new secret already; make it the current one",
  KeyExpired: "matches a key whose notAfter passed {seconds} s ago: the sender still signs with it",
  KeyOther: "matches secret {number} of {count}",
  KeysSwapped:
    "matches when the two keys are swapped: each key checks its own header only, put them in the other order",

  SecretMissing: "no secret was given: a signature cannot be checked without one",
  SecretEmpty: "secret {number} is empty or blank: it can sign nothing; put the provider's value into the Secret",
  SecretUndecodable: "secret {number} is not written as this scheme needs it: {needed}",
  SecretLineEnd:
    "matches when the secret ends in a line end: the provider was given one with it; set it there anew, without",
  SecretBlanks:
    "the secret has white space or a line end around it: write it without (kubectl --from-literal, printf '%s')",
  SecretQuotes: "the secret stands in quotes: write it without them",
  SecretEnvLine: "the secret is a whole NAME=value line: write the value only",
  SecretBase64:
    "the secret is base64 but used raw by this provider: put its decoded value into the Secret (it was encoded once too often)",
  SecretNotBase64: "the secret is raw but this scheme decodes it from base64: put base64 of it into the Secret",
  SecretHex: "the secret is hex but used raw by this provider: put the bytes it stands for into the Secret",
  SecretNotHex: "the secret is raw but this scheme decodes it from hex: put it into the Secret in hex",
  SecretPrefix:
    "matches without the prefix of the secret (whsec_, v1,): this provider signs with what stands behind it",
  SecretPrefixMissing:
    "matches with whsec_ before the secret: this provider signs with the whole text, write it with its prefix",

  BodyReencoded: "the body was re-encoded: the sender signed it {how}; keep the bytes as they came",
  BodyLineEndAdded: "the body has a line end that was not signed: something (an editor, echo) added it",
  BodyLineEndMissing: "the body lacks a line end that was signed: keep the bytes as they came",
  BodyCrlf: "the body has CR LF line ends but LF was signed",
  BodyLf: "the body has LF line ends but CR LF was signed",
  BodyBomAdded: "the body begins with a byte order mark that was not signed",
  BodyBomMissing: "the body lacks the byte order mark that was signed",
  BodyUrlEncoded: "the body is URL-encoded (%XX), but its decoded form was signed",
  BodyUrlDecoded: "the body was URL-decoded, but the encoded form was signed",
  BodyGzipped: "the body is compressed (gzip), but the uncompressed form was signed",
  BodyGunzipped: "the body was decompressed on its way: the compressed form was signed",
  BodyBase64: "the body is base64 of what was signed",
  BodyEmpty:
    "the signature is that of an empty body: the body was sent without being signed, or was read away before the sender signed it",
  BodyMojibake: "the body was decoded as Latin-1 and written again as UTF-8: keep the bytes as they came",
  BodyCut: "the body has {actual} bytes but content-length says {declared}: it was cut or changed on its way",

  UrlDiffers: "URL differs: the sender signed {url}; set verification.publicUrl to it",
  MethodDiffers: "the method differs: the sender signed {method}",

  ClockAhead:
    "clock {seconds} s ahead of the timestamp (tolerance {tolerance} s), the signature itself matches: the request was delayed or repeated, or a clock is wrong",
  ClockBehind:
    "clock {seconds} s behind the timestamp (tolerance {tolerance} s), the signature itself matches: compare both clocks (NTP)",
  TimestampMilliseconds: "the timestamp is in milliseconds, but this scheme has seconds",
  TimestampSeconds: "the timestamp is in seconds, but this scheme has milliseconds",

  HeaderMissing: "{detail}; headers that are there: {present}",
  HeaderSha1Only: "header has sha1 only ({present}): this scheme needs {wanted}; let the sender sign with SHA-256",
  HeaderVersionOnly: "{header} has {found} only, this scheme needs {wanted}: let the sender sign with that version",
  HeaderRenamed:
    "the signature stands in {present}, not in {wanted}: name that header in verification.hmac, or keep the proxy from renaming it",
  HeaderRepeated: "{header} was sent {times} times and one of its values matches: a proxy adds it again",
  HeaderJoined: "{header} holds two values joined by a comma and one of them matches: a proxy joined a repeated header",
  SignatureBase64: "the signature is in base64 where hex is expected",
  SignatureHex: "the signature is in hex where base64 is expected",
  SignatureUpperCase: "the signature is in upper case hex: this provider sends lower case",
  SignatureUnpadded: "the signature is in base64url or without padding where plain base64 is expected",
  SignaturePrefixMissing: 'the signature lacks "{prefix}" before it',
  SignaturePrefixExtra: 'the signature has "{prefix}" before it, which this scheme does not',
  SignatureBlanks: "the signature's header has blanks or quotes around its value that are not part of it",
  SignatureCut: "the signature has {actual} characters, {expected} are needed: it was cut",
  AlgorithmDiffers:
    "the signature matches as HMAC-{algorithm}: set verification.hmac.algorithm, or change it at the sender",
  ContentDiffers: "the signature covers {content}, not what this scheme says: set verification.hmac.signedContent",

  OtherProvider: "this is {title}'s signature and it matches: set verification.provider to {provider}",
  OtherProviderHeaders: "these headers are {title}'s: set verification.provider to {provider}",

  MaterialNeeded: "this needs the provider's public {kind} from {url}: fetch it and give it with --material FILE",
  MaterialOther: "the {kind} that was given does not match: the request names {id}",
  MaterialPeriod: "the {kind} that was given is not valid at this time",
  CertificateHost: "not believed: {detail}",
  SenderDiffers: "signed for somebody else: {detail}",

  AsRefused: "{detail}",
  Unexplained:
    "{detail}; {tries} alternatives were tried: most likely another secret, or a body or URL that was changed in a way not tried here",

  IdTaken: "dedupe: the id is {id}, from {sources}",
  IdMissing: "dedupe: {part} is missing, empty or there more than once: {instead}",
  IdNone: "dedupe: this provider sends no id: {instead}",
} as const satisfies Readonly<Record<string, string>>;

/** Names a sentence of {@link MESSAGES}. */
export type FindingCode = keyof typeof MESSAGES;

/** One thing that is the matter, in one line. */
export interface Finding {
  readonly code: FindingCode;
  readonly message: string;
}

/** Facts of a message by the name they have in it. Control characters are left out. */
export type Facts = Readonly<Record<string, string | number>>;

/** Makes a finding: the sentence of its code with the facts in it. */
export function finding(code: FindingCode, facts: Facts = {}): Finding {
  const message = MESSAGES[code].replaceAll(/\{(\w+)\}/g, (_, name: string) => printable(String(facts[name] ?? "?")));
  return { code, message };
}

function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "").slice(0, 400);
}
