import { describe, expect, it } from "vitest";
import { rateKey } from "./rate-key.ts";

describe("rateKey", () => {
  it("counts an IPv6 client by its /64", () => {
    expect(rateKey("2001:db8:1:2:3:4:5:6")).toBe(rateKey("2001:db8:1:2::9"));
    expect(rateKey("2001:db8::1")).toBe("2001:db8:0:0");
    expect(rateKey("2001:db8:1:2::9")).not.toBe(rateKey("2001:db8:1:3::9"));
    expect(rateKey("192.0.2.1")).toBe("192.0.2.1");
  });
});
