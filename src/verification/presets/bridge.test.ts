import { describe, expect, it } from "vitest";
import { keysOf, plainRequest } from "../vectors.ts";
import { createVerifier } from "../verifier.ts";

/** Test data of https://apidocs.bridge.xyz/v1/docs/webhook-event-signature-verification. */
const PUBLIC_KEY =
  "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtqsEE4eI7EmzhcquGJXt\nLX9PMK0UH6Kl1WIR21sv8HtueG8BuvvpP3MiN7ltzmIhS8KaynCjN4l+620PnXeu\nxWG+CSnEdkinL9hCqbEid5vv9zl0j9LWiJx3FkKHqADU7cgm46aa8dKUdIQYF2X+\nO7WmyLkC4wUM/mWhBPMsIQBznashRMZxx7XJjsVp27ACUE4eNIjEXbVYN6U8jSbU\nhG++CfL8xXu+GHDqKmFE6Po6HnuURvLFVnCtE3mXXBcVFlPy+octfx8nOMLT3X8O\n9UehIigJ34o2yMm/Fq3HUJzg2BsiAiGgtr0vmeoV9Q7upSNj9TuOumAzZFi4pYA+\nqwIDAQAB\n-----END PUBLIC KEY-----";
const SIGNATURE =
  "jz/0dmHJ63FAzacGutrDTEoq+iSz/PHm/ugdooXDQu5NwuVIT2LmZGjsnCsBHgR9Py6OBP9zurzW4dHgygU4EDqmMPTUOvhvndYb4lWt+TY66LihaFI2whL6DAf/jb1QjYjNU0A6x9SLzC45dgE6X7zTDUM+2Z+scG/WEQf6SxQMt4E2sEipl5PqMK5lYUe3otdJV+X2c9D64bGwCEE7QSia+Vhozg8QNOQEk/rdz2IEONIg6oC43CeiN4E2kF9XLAGuy9uAHx9O9OJH5ZPLJZjyo4VcXYeWQgxaQ1gZ1Qu6hEEzgiPSff/1nou58dm4bIIazgCWli/mO0NyGcpfFw==";
const SIGNED_AT = 1_705_854_411_204;
const BODY = '{"message":"Hello World!"}';

const verify = (time: number, body = BODY, now = SIGNED_AT) =>
  createVerifier({ type: "provider", provider: "bridge" }).verify(
    plainRequest({
      method: "POST",
      url: "",
      path: "/",
      headers: { "x-webhook-signature": `t=${time},v0=${SIGNATURE}` },
      body: Buffer.from(body),
    }),
    keysOf([PUBLIC_KEY]),
    now,
  );

describe("Bridge's signature", () => {
  it("of the documentation's test data is accepted, for ten minutes", () => {
    expect(verify(SIGNED_AT)).toMatchObject({ ok: true, signedAt: SIGNED_AT });
    expect(verify(SIGNED_AT, BODY, SIGNED_AT + 600_000)).toMatchObject({ ok: true });
    expect(verify(SIGNED_AT, BODY, SIGNED_AT + 600_001)).toMatchObject({ reason: "TimestampExpired" });
  });

  it("covers time and body", () => {
    expect(verify(SIGNED_AT + 1)).toMatchObject({ status: 401, reason: "SignatureMismatch" });
    expect(verify(SIGNED_AT, `${BODY} `)).toMatchObject({ status: 401, reason: "SignatureMismatch" });
  });
});
