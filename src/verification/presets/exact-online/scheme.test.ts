import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { keysOf, plainRequest } from "../../vectors.ts";
import { createVerifier } from "../../verifier.ts";

const verifier = createVerifier({ type: "provider", provider: "exact-online" });
const CONTENT = '{"Topic":"Accounts","Action":"Update","Key":"1","Note":"\u00fc \\u00fc / \\/"}';
const codeOf = (content: string) => createHmac("sha256", "secret").update(content).digest("hex").toUpperCase();
const bodyOf = (content: string, code = codeOf(content)) => `{"Content":${content},"HashCode":"${code}"}`;

const verify = (body: string | Buffer, secrets: readonly string[] = ["secret"]) =>
  verifier.verify(
    plainRequest({ method: "POST", url: "", path: "/", headers: {}, body: Buffer.from(body as string) }),
    keysOf(secrets),
    0,
  );

describe("Exact Online's HashCode", () => {
  it("is over the text of Content as it was sent, whatever blanks stand around it", () => {
    expect(verify(bodyOf(CONTENT))).toMatchObject({ ok: true, key: { id: "00000000" } });
    const spaced = `{ "Content" : ${CONTENT} ,\r\n "HashCode" : "${codeOf(CONTENT)}" }\n`;
    expect(verify(spaced)).toMatchObject({ ok: true });
    expect(verify(bodyOf(CONTENT.replaceAll(",", ", ")))).toMatchObject({ ok: true });
  });

  it("is taken in either case, and named in one", () => {
    const lower = verify(bodyOf(CONTENT, codeOf(CONTENT).toLowerCase()));
    expect(lower).toEqual(verify(bodyOf(CONTENT)));
    expect(lower).toMatchObject({ signature: codeOf(CONTENT).toLowerCase() });
  });

  it("is refused over another text, though it be the same JSON", () => {
    const mismatch = { status: 401, reason: "SignatureMismatch" };
    expect(verify(bodyOf(CONTENT.replaceAll(",", ", "), codeOf(CONTENT)))).toMatchObject(mismatch);
    expect(verify(bodyOf(CONTENT), ["other"])).toMatchObject(mismatch);
    const smuggled = bodyOf(`{"Key":"2"},"Content":${CONTENT}`, codeOf(CONTENT));
    expect(verify(smuggled)).toMatchObject(mismatch);
    const before = `{"Content":{"Key":"2"},"HashCode":"${"0".repeat(64)}","Content":${CONTENT},"HashCode":"${codeOf(CONTENT)}"}`;
    expect(verify(before)).toMatchObject(mismatch);
  });

  it("is good for one body, and only for one that is JSON as well", () => {
    const verdict = verify(bodyOf(CONTENT));
    expect(verdict).toMatchObject({ ok: true, nonce: codeOf(CONTENT).toLowerCase() });
    expect(verify(`{\t\r\n ${bodyOf(CONTENT).slice(1)}`)).toEqual(verdict);
    for (const blank of ["\f", "\v", "\xa0"]) {
      const plain = Buffer.from(bodyOf(CONTENT)).toString("latin1");
      const [first, second] = plain.split(',"HashCode"');
      for (const body of [`{${blank}${plain.slice(1)}`, `${first}${blank},"HashCode"${second}`, `${plain}${blank}`])
        expect(verify(Buffer.from(body, "latin1"))).toMatchObject({ ok: false });
    }
  });

  it("must stand behind Content, at the end", () => {
    const missing = { status: 400, reason: "SignatureMissing" };
    for (const body of [
      "",
      "{}",
      CONTENT,
      `{"HashCode":"${codeOf("{}")}","Content":{}}`,
      `{"Content":{}}`,
      `[${bodyOf("{}")}]`,
      `${bodyOf("{}")}x`,
    ])
      expect(verify(body)).toMatchObject(missing);
    for (const code of ["AB", "G".repeat(64), `${codeOf("{}")}00`])
      expect(verify(bodyOf("{}", code))).toMatchObject({ status: 401, reason: "SignatureMalformed" });
  });

  it("is refused without a usable key, and made by sign for an envelope or its content alike", () => {
    expect(verify(bodyOf(CONTENT), [""])).toMatchObject({ reason: "NoUsableKey" });
    for (const text of [`{"Content":${CONTENT}}`, CONTENT]) {
      const input = { method: "POST", url: "", path: "/", body: Buffer.from(text), id: "1" };
      const { body } = verifier.sign(input, keysOf(["secret"]), 0);
      expect(body?.toString()).toBe(bodyOf(CONTENT));
    }
  });
});
