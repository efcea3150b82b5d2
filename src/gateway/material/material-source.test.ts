import { generateKeyPairSync } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { FetchError, type FetchRequest, type FetchResponse } from "../../egress/guarded-fetch.ts";
import { Secret } from "../../lib/secret.ts";
import type { Material, MaterialRequest } from "../../verification/material.ts";
import type { Refusal } from "../../verification/refusal.ts";
import { FetchedMaterial } from "./material-source.ts";
import { makeCertificate, type TestCertificate } from "./testing.ts";

const NAME = "sns.us-east-1.amazonaws.com";
const START = Date.parse("2030-01-01");
const keys = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const root = makeCertificate({ name: "Root", isAuthority: true, keys });
const middle = makeCertificate({ name: "Middle", isAuthority: true, issuer: root });
const leaf = makeCertificate({
  name: NAME,
  dnsNames: [NAME],
  issuer: middle,
  issuerUrl: "http://ca.example/middle.cer",
});
const jwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });

const certificateAt = (path: string): MaterialRequest => {
  const url = `https://${NAME}/${path}`;
  return { kind: "certificate", url, id: url, certificateNames: [NAME] };
};
const jwkOf = (kid: string): MaterialRequest => ({
  kind: "jwk",
  url: "https://api.example/key",
  id: `key#${kid}`,
  jwkAt: "/key",
});
const file = (...certificates: readonly TestCertificate[]): FetchResponse => ({
  status: 200,
  body: Buffer.from(certificates.map(({ pem }) => pem).join("")),
});
const keyAnswer: FetchResponse = { status: 200, body: Buffer.from(JSON.stringify({ key: jwk })) };

let now: number;
let asked: FetchRequest[];
let lines: object[];
/** What the network answers. */
let network: (request: FetchRequest) => FetchResponse | Promise<FetchResponse>;
let source: FetchedMaterial;

beforeEach(() => {
  [now, asked, lines] = [START, [], []];
  network = () => keyAnswer;
  source = new FetchedMaterial({
    fetch: async (request) => {
      asked.push(request);
      return await network(request);
    },
    clock: { now: () => now, monotonic: () => now - START },
    logger: { warn: (line: object) => void lines.push(line) },
    roots: [root.pem],
  });
});

const obtain = (request: MaterialRequest, route = "r1", secrets: readonly string[] = [], client = "192.0.2.1") =>
  source.obtain(request, {
    route,
    client,
    credentials: secrets.map((secret) => ({ id: "0a0b0c0d", state: "current", secret: Secret.of(secret) })),
  });
const reasonOf = (answer: Material | Refusal) => ("ok" in answer ? `${answer.status} ${answer.reason}` : "material");

describe("a certificate", () => {
  test("is fetched once, checked, and kept for at most a day", async () => {
    network = () => file(leaf, middle);
    const [first, second] = await Promise.all([obtain(certificateAt("a.pem")), obtain(certificateAt("a.pem"))]);
    expect(reasonOf(first)).toBe("material");
    expect(second).toBe(first);
    expect(first).toMatchObject({ id: certificateAt("a.pem").id });
    now += 0.8 * 86_400_000 - 1;
    await obtain(certificateAt("a.pem"));
    expect(asked).toHaveLength(1);
    now += 0.2 * 86_400_000 + 1;
    await obtain(certificateAt("a.pem"));
    expect(asked).toHaveLength(2);
    expect(asked[0]).toMatchObject({ maxBytes: 65_536, timeoutMs: 5_000 });
  });

  test("is not kept beyond its own end", async () => {
    const to = new Date(START + 3_600_000);
    const brief = makeCertificate({ name: NAME, dnsNames: [NAME], issuer: middle, to });
    network = () => file(brief, middle);
    await obtain(certificateAt("a.pem"));
    now += 3_600_001;
    expect(reasonOf(await obtain(certificateAt("a.pem")))).toBe("401 CertificateUntrusted");
  });

  test("is completed by its issuer's, from where it says", async () => {
    network = ({ url }) => (url.startsWith("http:") ? { status: 200, body: middle.certificate.raw } : file(leaf));
    expect(reasonOf(await obtain(certificateAt("a.pem")))).toBe("material");
    expect(asked.map(({ url, plainHttp }) => [url, plainHttp])).toEqual([
      [certificateAt("a.pem").url, undefined],
      ["http://ca.example/middle.cer", true],
    ]);
  });

  test("asks no further when what it names does not help", async () => {
    network = ({ url }) => (url.startsWith("http:") ? { status: 200, body: leaf.certificate.raw } : file(leaf));
    expect(reasonOf(await obtain(certificateAt("a.pem")))).toBe("401 CertificateUntrusted");
    expect(asked.length).toBeLessThanOrEqual(3);
  });

  test.each([
    ["has another name", file(makeCertificate({ name: "x", dnsNames: ["evil.example"], issuer: middle }), middle)],
    ["is signed by nobody we know", file(makeCertificate({ name: NAME, dnsNames: [NAME] }))],
    ["is no certificate", { status: 200, body: Buffer.from("<Error/>") }],
    ["is not there", { status: 404, body: Buffer.alloc(0) }],
    ["may not be seen", { status: 403, body: Buffer.alloc(0) }],
  ])("that %s is refused, and not asked for again for 30 s", async (_what, answer) => {
    network = () => answer;
    for (let n = 0; n < 3; n++) expect(reasonOf(await obtain(certificateAt("b.pem")))).toBe("401 CertificateUntrusted");
    expect(asked).toHaveLength(1);
    now += 30_000;
    network = () => file(leaf, middle);
    expect(reasonOf(await obtain(certificateAt("b.pem")))).toBe("material");
  });
});

describe("a JSON web key", () => {
  test("is kept for an hour", async () => {
    expect(reasonOf(await obtain(jwkOf("1")))).toBe("material");
    now += 0.8 * 3_600_000 - 1;
    await obtain(jwkOf("1"));
    expect(asked).toHaveLength(1);
    now += 0.2 * 3_600_000 + 1;
    await obtain(jwkOf("1"));
    expect(asked).toHaveLength(2);
  });

  test("that has expired is refused", async () => {
    network = () => ({
      status: 200,
      body: Buffer.from(JSON.stringify({ key: { ...jwk, expired_at: START / 1_000 - 1 } })),
    });
    expect(reasonOf(await obtain({ ...jwkOf("1"), expiredAt: "/key/expired_at" }))).toBe("401 CertificateUntrusted");
  });

  test("is asked for with the route's credential, and belongs to the route then", async () => {
    const request: MaterialRequest = { ...jwkOf("1"), body: ([key]) => ({ secret: key?.secret.reveal().toString() }) };
    expect(reasonOf(await obtain(request, "r1"))).toBe("503 MaterialUnavailable");
    expect(asked).toHaveLength(0);
    await obtain(request, "r2", ["hush"]);
    await obtain(request, "r3", ["other"]);
    expect(asked.map(({ json }) => json)).toEqual([{ secret: "hush" }, { secret: "other" }]);
  });

  test.each([401, 403])("that our credential is not good for (%i) is not the sender's fault", async (status) => {
    network = () => ({ status, body: Buffer.alloc(0) });
    const request: MaterialRequest = { ...jwkOf("1"), body: () => ({}) };
    expect(reasonOf(await obtain(request, "r1", ["hush"]))).toBe("503 MaterialUnavailable");
  });
});

describe("a provider that cannot be asked", () => {
  test.each([302, 429, 500, 503])("answers with status %i: the sender may come again", async (status) => {
    network = () => ({ status, body: Buffer.alloc(0) });
    expect(reasonOf(await obtain(jwkOf("1")))).toBe("503 MaterialUnavailable");
  });

  test("is told of once a minute, with its host and nothing of the request", async () => {
    network = () => Promise.reject(new FetchError("ECONNREFUSED"));
    for (let n = 0; n < 4; n++) expect(reasonOf(await obtain(jwkOf(`kid ${n}`)))).toBe("503 MaterialUnavailable");
    expect(lines).toEqual([{ host: "api.example", code: "ECONNREFUSED" }]);
    now += 60_000;
    await obtain(jwkOf("later"));
    expect(lines).toHaveLength(2);
  });
});

describe("the certificate of an authority that cannot be fetched", () => {
  test("is told with its own host, and the sender may come again", async () => {
    network = ({ url }) => (url.startsWith("http:") ? Promise.reject(new FetchError("connect_timeout")) : file(leaf));
    expect(reasonOf(await obtain(certificateAt("a.pem")))).toBe("503 MaterialUnavailable");
    expect(lines).toEqual([{ host: "ca.example", code: "connect_timeout" }]);
  });
});

describe("forged names of keys", () => {
  test("cannot make more than a few fetches, nor hold up other routes and what is kept", async () => {
    await obtain(jwkOf("good"));
    network = () => ({ status: 404, body: Buffer.alloc(0) });
    asked = [];
    const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => obtain(jwkOf(`forged ${n}`))));
    expect(asked.length).toBeLessThanOrEqual(5);
    expect(answers.map(reasonOf).filter((reason) => reason === "503 MaterialUnavailable").length).toBeGreaterThan(480);
    expect(reasonOf(await obtain(jwkOf("good")))).toBe("material");
    network = () => keyAnswer;
    expect(reasonOf(await obtain(jwkOf("other"), "r2"))).toBe("material");
  });

  const forged = async (count: number, second: number, client?: string) => {
    for (let n = 0; n < count; n++) await obtain(jwkOf(`forged ${second} ${n}`), "r1", [], client);
  };
  const onlyGood = ({ json }: FetchRequest): FetchResponse =>
    json === "good" ? keyAnswer : { status: 404, body: Buffer.alloc(0) };
  /** Kept per id, as the id does not stand in the URL here. */
  const good: MaterialRequest = { ...jwkOf("good"), body: () => "good" };
  const obtainGood = (client?: string) => obtain(good, "r1", ["hush"], client);

  test("do not hold up one that was fetched before, in hours of a flood, at one a second or at twenty", async () => {
    network = onlyGood;
    await obtainGood();
    const reasons = new Set<string>();
    for (let second = 0; second < 3 * 3_600; second += 10) {
      now += 10_000;
      await forged(second < 3_600 ? 10 : 50, second);
      reasons.add(reasonOf(await obtainGood()));
    }
    expect([...reasons]).toEqual(["material"]);
    // It is fetched anew before each of its hours is over.
    expect(asked.filter(({ json }) => json === "good")).toHaveLength(4);
  });

  test("do not hold up one that was fetched long ago", async () => {
    network = onlyGood;
    await obtainGood();
    now += 7 * 86_400_000;
    await forged(100, 1);
    expect(reasonOf(await obtainGood())).toBe("material");
  });

  test("that are fetched and take their time do not hold up one that was fetched long ago", async () => {
    network = onlyGood;
    await obtainGood();
    now += 7 * 86_400_000;
    network = (request) => (request.json === "good" ? keyAnswer : new Promise(() => undefined));
    for (let n = 0; n < 10; n++) void obtain(jwkOf(`forged ${n}`), "r1", [], `192.0.2.${n}`);
    expect(reasonOf(await obtainGood())).toBe("material");
  });

  test("do not hold up the first fetch for another client", async () => {
    network = onlyGood;
    for (let second = 0; second < 60; second++) {
      now += 1_000;
      await forged(50, second, `2001:db8::${second}`);
    }
    expect(reasonOf(await obtainGood("198.51.100.7"))).toBe("material");
  });

  test("that come from the same client, or from everywhere, hold up a first fetch for one more attempt", async () => {
    network = onlyGood;
    const second = async () => {
      now += 1_000;
      for (let n = 0; n < 100; n++) await forged(1, now + n / 1_000, `203.0.113.${n}`);
    };
    for (let n = 0; n < 5; n++) await second();
    expect(reasonOf(await obtainGood("203.0.113.1"))).toBe("503 MaterialUnavailable");
    expect(reasonOf(await obtainGood("203.0.113.1"))).toBe("503 MaterialUnavailable");
    await second();
    await second();
    expect(reasonOf(await obtainGood("203.0.113.1"))).toBe("material");
  });

  test("that are repeated get no further than other names", async () => {
    network = onlyGood;
    for (let second = 0; second < 120; second++) {
      now += 1_000;
      for (let n = 0; n < 40; n++) await obtain(jwkOf(`forged ${n}`));
    }
    // Five at once and one in two seconds, once for new names and once for repeated ones.
    expect(asked.length).toBeLessThanOrEqual(2 * (5 + 60));
  });

  test("are fetched four at a time", async () => {
    let open = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    network = async () => {
      most = Math.max(most, (open += 1));
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
      open -= 1;
      return keyAnswer;
    };
    const answers = Promise.all(
      Array.from({ length: 9 }, (_, n) => obtain(jwkOf(`kid ${n}`), "r1", [], `192.0.2.${n}`)),
    );
    for (let done = 0; done < 9; done++) {
      // Each that ends lets one more begin.
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
      waiting.shift()?.();
    }
    await answers;
    expect(most).toBe(4);
  });
});

describe("a key near its end", () => {
  beforeEach(async () => {
    await obtain(jwkOf("1"));
    now += 0.8 * 3_600_000;
    asked = [];
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test("is fetched again, once, while the old one serves", async () => {
    let answer: ((response: FetchResponse) => void) | undefined;
    network = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const served = [await obtain(jwkOf("1")), await obtain(jwkOf("1"))];
    expect(served.map(reasonOf)).toEqual(["material", "material"]);
    expect(asked).toHaveLength(1);
    answer?.(keyAnswer);
    await settled();
    now += 0.79 * 3_600_000;
    expect(await obtain(jwkOf("1"))).not.toBe(served[0]);
    expect(asked).toHaveLength(1);
  });

  test("serves on while its provider cannot be asked, who is asked twice a minute, until it ends", async () => {
    network = () => Promise.reject(new FetchError("ECONNREFUSED"));
    for (let second = 0; second < 600; second++) {
      expect(reasonOf(await obtain(jwkOf("1")))).toBe("material");
      await settled();
      now += 1_000;
    }
    expect(asked).toHaveLength(20);
    now += 120_000;
    expect(reasonOf(await obtain(jwkOf("1")))).toBe("503 MaterialUnavailable");
    network = () => keyAnswer;
    now += 30_000;
    expect(reasonOf(await obtain(jwkOf("1")))).toBe("material");
  });

  test("serves no more when its provider has withdrawn it", async () => {
    network = () => ({ status: 404, body: Buffer.alloc(0) });
    await obtain(jwkOf("1"));
    await settled();
    expect(reasonOf(await obtain(jwkOf("1")))).toBe("401 CertificateUntrusted");
  });
});
