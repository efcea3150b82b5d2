import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { keysOf, plainRequest } from "./vectors.ts";
import { createVerifier } from "./verifier.ts";

const NOW = 1_760_000_000_000;
const BODY = '{"id":"evt_1"}';
const hmac = (secret: string, content: string) => createHmac("sha256", secret).update(content).digest("hex");

function verify(provider: string, header: string | readonly string[], secrets: readonly string[] = ["secret"]) {
  const name =
    { mollie: "x-mollie-signature", persona: "persona-signature", workos: "workos-signature" }[provider] ?? "";
  return createVerifier({ type: "provider", provider }).verify(
    plainRequest({ method: "POST", url: "", path: "/", headers: { [name]: header }, body: Buffer.from(BODY) }),
    keysOf(secrets),
    NOW,
  );
}

describe("Persona's pairs of time and signature", () => {
  const pair = (secret: string, seconds: number) => `t=${seconds},v1=${hmac(secret, `${seconds}.${BODY}`)}`;
  const at = NOW / 1_000;

  it("are one, or two while a secret is rotated, of which one must be right by its own time", () => {
    expect(verify("persona", pair("secret", at))).toMatchObject({ ok: true, signedAt: NOW });
    expect(verify("persona", `${pair("new", at)} ${pair("secret", at - 2)}`)).toMatchObject({ signedAt: NOW - 2_000 });
    expect(verify("persona", `${pair("secret", at)} ${pair("new", at)}`)).toMatchObject({ ok: true });
    const crossed = `t=${at - 2},v1=${hmac("secret", `${at}.${BODY}`)} t=${at},v1=${hmac("new", `${at}.${BODY}`)}`;
    expect(verify("persona", crossed)).toMatchObject({ reason: "SignatureMismatch" });
  });

  it("are refused when they are old, wrong, too many, doubled or missing", () => {
    expect(verify("persona", pair("secret", at - 301))).toMatchObject({ reason: "TimestampExpired" });
    expect(verify("persona", `${pair("other", at)} ${pair("new", at)}`)).toMatchObject({ reason: "SignatureMismatch" });
    expect(verify("persona", Array.from({ length: 5 }, () => pair("secret", at)).join(" "))).toMatchObject({
      reason: "SignatureMalformed",
    });
    expect(verify("persona", [pair("secret", at), pair("secret", at)])).toMatchObject({ reason: "SignatureMalformed" });
    expect(verify("persona", [])).toMatchObject({ status: 400, reason: "HeaderMissing" });
  });
});

describe("Mollie's header", () => {
  const signature = (secret: string) => `sha256=${hmac(secret, BODY)}`;

  it("comes once for each secret while one is renewed, also joined by a proxy", () => {
    expect(verify("mollie", signature("secret"))).toMatchObject({ ok: true });
    expect(verify("mollie", [signature("new"), signature("secret")])).toMatchObject({ ok: true });
    expect(verify("mollie", `${signature("secret")}, ${signature("new")}`)).toMatchObject({ ok: true });
  });

  it("is refused when none of them is right, or when there are more than there can be secrets", () => {
    expect(verify("mollie", [signature("new"), signature("other")])).toMatchObject({ reason: "SignatureMismatch" });
    expect(
      verify(
        "mollie",
        Array.from({ length: 5 }, () => signature("secret")),
      ),
    ).toMatchObject({ reason: "SignatureMalformed" });
    expect(verify("mollie", [])).toMatchObject({ reason: "HeaderMissing" });
    expect(verify("mollie", "")).toMatchObject({ reason: "HeaderMissing" });
  });
});

describe("WorkOS' header", () => {
  it("has a blank behind the comma or none", () => {
    const v1 = `v1=${hmac("secret", `${NOW}.${BODY}`)}`;
    expect(verify("workos", `t=${NOW}, ${v1}`)).toMatchObject({ ok: true, signedAt: NOW });
    expect(verify("workos", `t=${NOW},${v1}`)).toMatchObject({ ok: true });
    expect(verify("workos", `t=${NOW},  ${v1}`)).toMatchObject({ ok: false });
    expect(verify("workos", `t=${NOW - 180_001},${v1}`)).toMatchObject({ reason: "TimestampExpired" });
    expect(verify("workos", [`t=${NOW},${v1}`, `t=${NOW},${v1}`])).toMatchObject({ reason: "SignatureMalformed" });
  });
});
