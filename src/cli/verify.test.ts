import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { keysOf } from "../verification/vectors.ts";
import { signAs } from "../verification/verifier.ts";
import { UsageError } from "./command.ts";
import { command } from "./verify.ts";

const dir = mkdtempSync(join(tmpdir(), "davit-verify-"));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, content: string): string {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
}

async function run(...argv: string[]): Promise<{ code: number; out: string }> {
  let out = "";
  const stdout = { write: (text: string) => (out += text) };
  const code = await command.run(argv, { stdout, stderr: stdout });
  return { code, out };
}

describe("davit verify --cases", () => {
  it("prints one line for each case that agrees with the vectors, each with its own clock", async () => {
    const path = new URL("../../test/vectors/signatures.json", import.meta.url).pathname;
    const vectors = JSON.parse(readFileSync(path, "utf8")) as { id: string; valid: boolean }[];
    const { code, out } = await run("--cases", path);
    expect(code).toBe(0);
    const lines = out.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(vectors.map(({ id, valid }) => ({ id, valid })));
  });

  it("names a scheme it does not know and ends with 1, and takes several secrets", async () => {
    const body = Buffer.from("{}");
    const headers = signAs(
      { type: "provider", provider: "github" },
      keysOf(["new"]),
      { method: "POST", url: "", path: "/", body, id: "1" },
      0,
    );
    const bodyBase64 = body.toString("base64");
    const cases = [
      { id: "a", scheme: "morse", secret: "x", headers: {}, bodyBase64: "" },
      { id: "b", scheme: "github-sha256", secret: ["old", "new"], headers, bodyBase64 },
      { id: "c", scheme: "github-sha256", secret: "6e6577", secretEncoding: "hex", headers, bodyBase64 },
    ];
    const { code, out } = await run("--cases", file("cases.json", JSON.stringify(cases)));
    expect(code).toBe(1);
    expect(out.trim().split("\n")).toEqual([
      '{"id":"a","valid":false,"error":"scheme morse not supported"}',
      '{"id":"b","valid":true}',
      '{"id":"c","valid":true}',
    ]);
  });
});

it.each([
  ["no JSON", "a: 1"],
  ["no array", "{}"],
])("davit verify --cases refuses a file that holds %s", async (_what, content) => {
  await expect(run("--cases", file("bad.json", content))).rejects.toThrow("an array of signature vectors is needed");
});

describe("davit verify --provider", () => {
  const body = Buffer.from('{"a":1}');
  const [signature = ""] = Object.values(
    signAs(
      { type: "provider", provider: "stripe" },
      keysOf(["whsec_x"]),
      { method: "POST", url: "", path: "/", body, id: "1" },
      1_700_000_000_000,
    ),
  );
  const args = [
    "--provider",
    "stripe",
    "--secret-file",
    file("secret", "whsec_x\n"),
    "--body",
    file("body", body.toString()),
    "--header",
    `Stripe-Signature: ${signature}`,
  ];

  it("says that a signature matches", async () => {
    expect(await run(...args, "--now", "1700000000")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^valid: the signature matches\n/) as string,
    });
  });

  it("says why a signature does not match, without values", async () => {
    const { code, out } = await run(...args, "--now", "1700000999");
    expect(code).toBe(1);
    expect(out).toBe(
      "invalid: TimestampExpired: clock 999 s ahead of the timestamp (tolerance 300 s), the signature itself matches: the request was delayed or repeated, or a clock is wrong\n",
    );
  });

  it.each<[string[], string]>([
    [["--provider", "stripe"], "give --provider, --secret-file and --body, or --cases"],
    [["--provider", "morse"], "davit providers lists them"],
    [[...args, "--header", "none"], "--header: write 'Name: value'"],
    [[...args, "--now", "today"], '--now: "today" is not a number of seconds'],
  ])("refuses %j as wrong use and says what is needed", async (argv, text) => {
    await expect(run(...argv)).rejects.toThrow(UsageError);
    await expect(run(...argv)).rejects.toThrow(text);
  });

  it("names the flag of a file that cannot be read", async () => {
    await expect(run(...args, "--body", join(dir, "none"))).rejects.toThrow(
      /^--body: .*none cannot be read \(ENOENT\)/,
    );
  });

  it("tells that the previous secret matches, which is not the one that was asked about", async () => {
    const old = file("old", "whsec_x");
    const asked = args.with(args.indexOf("--secret-file") + 1, file("new", "whsec_y"));
    const { code, out } = await run(...asked, "--previous-secret-file", old, "--now", "1700000000");
    expect(code).toBe(1);
    expect(out).toMatch(/^invalid: SignatureMismatch: matches the \*previous\* key: /);
  });

  it("reads a whole request from a file, guesses its URL, and prints JSON", async () => {
    const raw = file(
      "raw",
      `POST /in HTTP/1.1\r\nHost: h\r\nStripe-Signature: ${signature}\r\n\r\n${body.toString()}\n`,
    );
    const flags = ["--provider", "stripe", "--secret-file", join(dir, "secret"), "-i", raw, "-o", "json"];
    const { code, out } = await run(...flags, "--now", "1700000000");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      reason: "SignatureMismatch",
      findings: [{ code: "BodyLineEndAdded" }],
    });
  });

  it("refuses a parameter that the provider does not have, and material that is none", async () => {
    await expect(run(...args, "--parameter", "colour=red")).rejects.toThrow(/colour/);
    await expect(run(...args, "--parameter", "colour")).rejects.toThrow("--parameter: write name=value");
    await expect(run(...args, "--material", join(dir, "body"))).rejects.toThrow(
      "holds no certificate, public key (PEM) or JWK",
    );
  });
});

describe("davit verify --material", () => {
  const vectors = JSON.parse(
    readFileSync(new URL("../../test/vectors/signatures.json", import.meta.url), "utf8"),
  ) as readonly {
    id: string;
    headers: Record<string, string>;
    bodyBase64: string;
    secret: string;
    extra?: { certPem?: string };
  }[];
  const vector = (id: string) => {
    const found = vectors.find((one) => one.id === id);
    if (found === undefined) throw new Error(`no vector ${id}`);
    return found;
  };
  /** The request of a vector as flags. */
  function requestOf(id: string): string[] {
    const { headers, bodyBase64 } = vector(id);
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return ["-i", file(id, `POST / HTTP/1.1\r\n${head.join("")}\r\n${Buffer.from(bodyBase64, "base64").toString()}`)];
  }
  const topic = (arn: string) => ["--provider", "aws-sns", "--parameter", `topicArn=${arn}`];
  const TOPIC = "arn:aws:sns:us-east-1:123456789012:MyTopic";
  const PLAID = ["--provider", "plaid", "--parameter", "clientId=5f0c2a3b4d5e6f7a8b9c0d1e", "--now", "1718000000"];

  it("asks for the certificate of SNS, takes it, and tells another topic", async () => {
    const request = requestOf("aws-sns-01");
    const certificate = ["--material", file("certificate.pem", vector("aws-sns-01").extra?.certPem ?? "")];
    expect((await run(...topic(TOPIC), ...request)).out).toMatch(
      /^invalid: MaterialUnavailable: .*public certificate from https:\/\/sns\./,
    );
    expect((await run(...topic(TOPIC), ...request, ...certificate)).code).toBe(0);
    expect((await run(...topic(`${TOPIC}2`), ...request, ...certificate)).out).toMatch(
      /^invalid: SenderMismatch: signed for somebody else/,
    );
  });

  it("takes a JWK of Plaid only if it is the one that the token names", async () => {
    const jwk = JSON.parse(vector("plaid-01").secret) as { kid: string };
    const request = requestOf("plaid-01");
    expect((await run(...PLAID, ...request, "--material", file("jwk", JSON.stringify({ key: jwk })))).code).toBe(0);
    const { code, out } = await run(
      ...PLAID,
      ...request,
      "--material",
      file("other", JSON.stringify({ ...jwk, kid: "other" })),
    );
    expect(code).toBe(1);
    expect(out).toContain(`the key (JWK) that was given does not match: the request names ${jwk.kid}`);
  });
});
