import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { RingKey } from "../routes/entry.ts";
import { createSigner, signableUntil } from "./signing.ts";

const key = (secret: string, overrides: Partial<RingKey> = {}): RingKey => ({
  id: "00000000",
  use: "Signing",
  state: "current",
  since: 0,
  value: Buffer.from(secret).toString("base64"),
  ...overrides,
});

function sign(
  scheme: "StandardWebhooks" | "Timestamped",
  keys: RingKey[],
  body: Buffer,
  now: number,
): Record<string, string> {
  const headers: string[] = [];
  createSigner({ scheme, header: "x-signature", keys })(headers, "msg_p5jXN8AQM9LWM0D4loKWxJek", body, now);
  return Object.fromEntries(headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? ""]] : [])));
}

describe("StandardWebhooks", () => {
  const body = Buffer.from('{"test": 2432232314}');
  const now = 1_614_265_330_000;

  it("signs as the specification's own test vector", () => {
    expect(sign("StandardWebhooks", [key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")], body, now)).toEqual({
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    });
  });

  it("accepts a secret with its version in front, and one that is no base64 at all", () => {
    const prefixed = sign("StandardWebhooks", [key("v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")], body, now);
    expect(prefixed["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    const raw = sign("StandardWebhooks", [key("a plain secret")], body, now);
    const mac = createHmac("sha256", "a plain secret").update("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.").update(body);
    expect(raw["webhook-signature"]).toBe(`v1,${mac.digest("base64")}`);
  });

  it("signs with every key in use, current first, and not with one whose time is over or has not come", () => {
    const keys = [
      key("one"),
      key("two", { state: "previous", notAfter: now }),
      key("three", { state: "previous", notAfter: now - 1 }),
      key("four", { state: "next" }),
    ];
    const signatures = sign("StandardWebhooks", keys, body, now)["webhook-signature"]?.split(" ");
    expect(signatures).toEqual(
      ["one", "two"].map((secret) => {
        const mac = createHmac("sha256", secret).update("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.").update(body);
        return `v1,${mac.digest("base64")}`;
      }),
    );
  });
});

describe("Timestamped", () => {
  it("signs timestamp and body in hex with the Secret's bytes as they are, afresh at each attempt", () => {
    const body = Buffer.from([0xff, 0x00, 0x80]);
    const at = (seconds: number): string =>
      `t=${seconds},v1=${createHmac("sha256", "whsec_abc").update(`${seconds}.`).update(body).digest("hex")}`;
    expect(sign("Timestamped", [key("whsec_abc")], body, 1_000_999)).toEqual({ "x-signature": at(1_000) });
    expect(sign("Timestamped", [key("whsec_abc")], body, 1_001_000)).toEqual({ "x-signature": at(1_001) });
  });
});

describe.each(["StandardWebhooks", "Timestamped"] as const)("without a key that can be used, %s", (scheme) => {
  const now = 1_614_265_330_000;

  it.each([
    ["no key", []],
    ["a key that is over", [key("one", { notAfter: now - 1 })]],
    ["only the next key", [key("one", { state: "next" })]],
    ["an empty key", [key("")]],
  ] as const)("adds no header and says so: %s", (_name, keys) => {
    const headers: string[] = [];
    expect(createSigner({ scheme, header: "x-signature", keys })(headers, "id", Buffer.from("{}"), now)).toBe(false);
    expect(headers).toEqual([]);
    expect(signableUntil({ scheme, header: "x-signature", keys })).toBeLessThan(now);
  });

  it("can be signed until the last of its keys is over", () => {
    const keys = [key("one", { notAfter: now - 5 }), key("two", { state: "previous", notAfter: now })];
    const signer = createSigner({ scheme, header: "x-signature", keys });
    expect(signer([], "id", Buffer.from("{}"), now)).toBe(true);
    expect(signer([], "id", Buffer.from("{}"), now + 1)).toBe(false);
    expect(signableUntil({ scheme, header: "x-signature", keys })).toBe(now);
    expect(signableUntil({ scheme, header: "x-signature", keys: [...keys, key("three")] })).toBe(Infinity);
  });
});

describe("signableUntil", () => {
  it("has no end where nothing is signed", () => {
    expect(signableUntil(undefined)).toBe(Infinity);
  });

  it("takes a whsec_ secret that decodes to nothing for no key", () => {
    expect(signableUntil({ scheme: "StandardWebhooks", header: "", keys: [key("whsec_A")] })).toBe(-Infinity);
  });
});

describe("a signature", () => {
  it("is the same for bodies of any size, which are hashed in other ways from 16 KiB up", () => {
    for (const size of [0, 1, 16_000, 16_384, 16_385, 1_000_000]) {
      const body = Buffer.alloc(size, 0xe9);
      const mac = createHmac("sha256", "k").update("1000.").update(body).digest("hex");
      expect(sign("Timestamped", [key("k")], body, 1_000_000)).toEqual({ "x-signature": `t=1000,v1=${mac}` });
    }
  });

  it("is there for each key of an overlap, in one list that receivers read until one fits", () => {
    const keys = [key("new"), key("old", { state: "previous", notAfter: 2_000_000 })];
    const macs = ["new", "old"].map((secret) => createHmac("sha256", secret).update("1000.{}").digest("hex"));
    expect(sign("Timestamped", keys, Buffer.from("{}"), 1_000_000)).toEqual({
      "x-signature": `t=1000,v1=${macs[0]},v1=${macs[1]}`,
    });
  });
});
