import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { certificateAuthority } from "./certificates.ts";

/** A mail as the server took it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body, decoded where they are `quoted-printable`. */
  readonly text: string;
  readonly user: string | undefined;
  readonly wasEncrypted: boolean;
}

export interface MailServerOptions {
  /** Asked for with AUTH; without it anybody may send. */
  readonly credentials?: { readonly user: string; readonly password: string };
  /** TLS from the first byte instead of STARTTLS. */
  readonly implicit?: boolean;
  /** STARTTLS is not offered. */
  readonly plain?: boolean;
}

/** An SMTP server of a test on 127.0.0.1, with a certificate for `localhost`. */
export interface MailServer {
  readonly port: number;
  /** Authority of its certificate, PEM. */
  readonly ca: string;
  readonly mails: readonly ReceivedMail[];
  /** Answers every recipient with this code from now on; `undefined`: takes them. */
  refuse(code: number | undefined): void;
  stop(): Promise<void>;
}

/** Starts one. */
export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const authority = certificateAuthority("mail test");
  const { certificate, key } = authority.issue("localhost", ["localhost", "IP:127.0.0.1"]);
  const mails: ReceivedMail[] = [];
  let refusal: number | undefined;
  const { credentials, implicit = false, plain = false } = options;
  const server = new SMTPServer({
    secure: implicit,
    key,
    cert: certificate,
    authOptional: credentials === undefined,
    logger: false,
    disabledCommands: [...(plain ? ["STARTTLS"] : []), ...(credentials === undefined ? ["AUTH"] : [])],
    onAuth({ username, password }, _session, done) {
      if (username === credentials?.user && password === credentials?.password) return done(null, { user: username });
      return done(new Error("wrong credentials"));
    },
    onRcptTo(_address, _session, done) {
      if (refusal === undefined) return done();
      return done(Object.assign(new Error("a server's own words"), { responseCode: refusal }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? "" : (mailFrom?.address ?? ""),
          to: rcptTo.map(({ address }) => address),
          text: unwrapped(Buffer.concat(chunks).toString("utf8")),
          user: session.user === undefined ? undefined : String(session.user),
          wasEncrypted: session.secure,
        });
        done();
      });
    },
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    port: (server.server.address() as AddressInfo).port,
    ca: authority.certificate,
    mails,
    refuse(code) {
      refusal = code;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** RFC 2045 §6.7 soft line breaks and octets, RFC 5322 §2.2.3 folded headers. */
function unwrapped(text: string): string {
  const octets = (match: string, hex: string) =>
    hex === undefined ? match : String.fromCharCode(Number.parseInt(hex, 16));
  return text
    .replaceAll(/=\r?\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, octets)
    .replaceAll(/\r?\n[ \t]/g, (fold, at: number, whole: string) => (at < whole.indexOf("\r\n\r\n") ? " " : fold))
    .replaceAll("\r\n", "\n");
}
