import { readFileSync } from "node:fs";
import { createTransport } from "nodemailer";
import { isMailAddress } from "../../lib/mail-address.ts";

/** A mail, plain text. */
export interface Mail {
  /** One address, see `isMailAddress`. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  readonly text: string;
  /** Left of the `@`; the same when the mail is sent again. */
  readonly messageId: string;
}

/** Why a mail was not taken: a code of nodemailer (`EAUTH`, `ECONNECTION`, `ETLS`, …), with the server's reply code where there is one (`EENVELOPE_550`). */
export class MailError extends Error {
  readonly code: string;
  constructor(code: string, options?: ErrorOptions) {
    super(`the mail was not taken: ${code}`, options);
    this.name = "MailError";
    this.code = code;
  }
}

export interface Mailer {
  /** @throws MailError unless the server has taken it */
  send(mail: Mail): Promise<void>;
}

/** Where mails are handed over. */
export interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  /** `StartTLS`: it must be offered. `Implicit`: from the first byte. `None`: in the clear, without credentials. */
  readonly tls: "StartTLS" | "Implicit" | "None";
  /** Read at each mail, so that a Secret that was changed takes effect. */
  readonly userFile?: string | undefined;
  readonly passwordFile?: string | undefined;
  /** Authorities instead of the system's, PEM. */
  readonly caFile?: string | undefined;
  /** Address of the sender. */
  readonly from: string;
}

/** Connect, greeting and each answer, ms. */
const CONNECT_MS = 5_000;
const ANSWER_MS = 10_000;
/** The whole of it, ms. */
const WITHIN_MS = 30_000;

/**
 * Hands mails over by SMTP, a connection each. Recipients and headers are given in parts, never parsed out of a text.
 * @param withinMs the whole of it
 */
export function smtpMailer(settings: SmtpSettings, withinMs = WITHIN_MS): Mailer {
  const { from } = settings;
  return {
    async send({ to, subject, text, messageId }) {
      if (!isMailAddress(to)) throw new MailError("invalid_address");
      const transport = transportOf(settings);
      const late = AbortSignal.timeout(withinMs);
      try {
        await Promise.race([
          transport.sendMail({
            envelope: { from, to: [to] },
            from: { name: "Davit", address: from },
            to: { name: "", address: to },
            subject,
            text,
            messageId: `<${messageId}@${from.slice(from.indexOf("@") + 1)}>`,
            // RFC 3834 §5: nothing that answers by itself is to answer this.
            headers: { "Auto-Submitted": "auto-generated" },
            disableFileAccess: true,
            disableUrlAccess: true,
            // Closes the connection of a server that says a word now and then, and never the last one.
            signal: late,
          }),
          rejectedBy(late),
        ]);
      } catch (error) {
        if (error instanceof MailError) throw error;
        throw new MailError(late.aborted ? "timeout" : codeOf(error), { cause: error });
      } finally {
        transport.close();
      }
    },
  };
}

function transportOf({ host, port, tls, userFile, passwordFile, caFile }: SmtpSettings) {
  const credentials = userFile === undefined || passwordFile === undefined ? undefined : { userFile, passwordFile };
  try {
    return createTransport({
      host,
      port,
      secure: tls === "Implicit",
      requireTLS: tls === "StartTLS",
      ignoreTLS: tls === "None",
      ...(credentials && {
        auth: { user: readLine(credentials.userFile), pass: readLine(credentials.passwordFile) },
      }),
      tls: { minVersion: "TLSv1.2", ...(caFile !== undefined && { ca: readFileSync(caFile) }) },
      connectionTimeout: CONNECT_MS,
      greetingTimeout: ANSWER_MS,
      socketTimeout: ANSWER_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  } catch (error) {
    throw new MailError("credentials_unreadable", { cause: error });
  }
}

function readLine(file: string): string {
  return readFileSync(file, "utf8").trim();
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new MailError("timeout")), { once: true });
  });
}

/** Never the server's words. */
function codeOf(error: unknown): string {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  const known = typeof code === "string" && /^[A-Z_0-9]{1,40}$/.test(code) ? code : "unknown";
  return typeof responseCode === "number" ? `${known}_${responseCode}` : known;
}
