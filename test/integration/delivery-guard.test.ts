import type { LookupAddress } from "node:dns";
import { describe, expect, it } from "vitest";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { EgressGuard, type Resolve } from "../../src/egress/guard.ts";
import { HttpSender } from "../../src/egress/http-sender.ts";
import type { DestinationEntry } from "../../src/routes/entry.ts";
import { destinations } from "../support/http-destinations.ts";
import { takenCopy } from "../support/taken-copy.ts";
import { workerDestination } from "../support/worker-destination.ts";

const { serve } = destinations();

interface Surroundings {
  readonly allow?: readonly string[];
  /** Answers of a resolver, one a question; the last one repeats. */
  readonly answers?: readonly (readonly string[])[];
}

/** How one attempt at a target ends, and what the resolver was asked. */
async function attempt(target: DestinationEntry["target"], { allow = [], answers }: Surroundings = {}) {
  const asked: string[] = [];
  const resolve: Resolve = (host, done) => {
    const answer = answers?.[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(host);
    done(
      null,
      answer.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  const guard = new EgressGuard({ allow, ...(answers !== undefined && { resolve }) });
  const sender = new HttpSender({ guard, connectTimeoutMs: 1_000 });
  try {
    const result = await createHttpAttempt(sender)(takenCopy(), workerDestination({ target, timeoutMs: 1_500 }), {
      signal: new AbortController().signal,
      beforeWrite: () => true,
    });
    return { code: result.type === "error" ? result.code : result.type, asked };
  } finally {
    await sender.close();
  }
}

const url = (text: string) => ({ type: "http", url: text }) as const;
const service = (text: string) => ({ type: "http", url: text, viaService: true }) as const;

async function counted() {
  let hits = 0;
  const origin = await serve((_request, response) => {
    hits += 1;
    response.end();
  });
  return { port: new URL(origin).port, hits: () => hits };
}

describe("a delivery to a URL", () => {
  it.each([
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.8.8.8",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::8.8.8.8]",
    "[100::1]",
    "[2001::1]",
    "[2001:db8::1]",
    "[2002:7f00:1::]",
    "[3fff::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
  ])("does not go to %s, nor to a name that has it beside a public one", async (host) => {
    expect((await attempt(url(`http://${host}:9/`))).code).toBe("AddressNotAllowed");
    const address = host.replace(/[[\]]/g, "");
    for (const answer of [[address], ["8.8.8.8", address], [address, "2606:4700:4700::1111"]]) {
      expect((await attempt(url("http://name.example:9/"), { answers: [answer] })).code).toBe("AddressNotAllowed");
    }
  });

  it.each([
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "%31%32%37.0.0.1",
    "user@127.0.0.1",
    "localhost",
    "LOCALHOST",
    "0",
    "[0:0:0:0:0:ffff:127.0.0.1]",
  ])("does not go to this machine however it is spelt: %s", async (host) => {
    const { port, hits } = await counted();
    expect((await attempt(url(`http://${host}:${port}/`))).code).toBe("AddressNotAllowed");
    expect(hits()).toBe(0);
  });

  it("connects to the address that it judged, although the name leads elsewhere by then", async () => {
    const { port, hits } = await counted();
    // Allowed at the first question, forbidden at any later one.
    const answers = [["127.0.0.1"], ["169.254.169.254"]];
    const { code, asked } = await attempt(url(`http://rebinding.example:${port}/`), { answers, allow: ["127.0.0.1"] });
    expect([code, asked, hits()]).toEqual(["response", ["rebinding.example"], 1]);
  });

  it("is judged anew at every connection: a name that was good before does not lead inside later", async () => {
    const { port, hits } = await counted();
    const target = url(`http://rebinding.example:${port}/`);
    expect((await attempt(target, { answers: [["127.0.0.1"]] })).code).toBe("AddressNotAllowed");
    expect(hits()).toBe(0);
  });

  it("does not lead into the cluster by a Service's name", async () => {
    expect((await attempt(url("http://orders.shop.svc:9/"), { answers: [["10.96.0.7"]] })).code).toBe(
      "AddressNotAllowed",
    );
  });
});

describe("what the release allows", () => {
  it("is a range, for every spelling of an address in it and nothing beside it", async () => {
    const { port, hits } = await counted();
    const allow = ["127.0.0.1/32"];
    expect((await attempt(url(`http://127.1:${port}/`), { allow })).code).toBe("response");
    expect((await attempt(url(`http://127.0.0.2:${port}/`), { allow })).code).toBe("AddressNotAllowed");
    expect(hits()).toBe(1);
  });

  it("is a host with what lies below it when it says so, but never this machine nor link-local addresses", () => {
    const guard = new EgressGuard({ allow: ["Hooks.corp.example", "*.apps.example"] });
    const judge = (host: string, address: string) => guard.refusal(address, "Public", host) === undefined;
    for (const host of ["hooks.corp.example", "HOOKS.corp.example.", "a.apps.example", "a.b.apps.example"]) {
      expect([host, judge(host, "10.1.2.3"), judge(host, "100.64.0.1"), judge(host, "fd00::1")]).toEqual([
        host,
        true,
        true,
        true,
      ]);
      for (const address of ["127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "2002:a00:1::"]) {
        expect([host, address, judge(host, address)]).toEqual([host, address, false]);
      }
    }
    for (const host of [
      "apps.example",
      "evilapps.example",
      "x.hooks.corp.example",
      "hooks.corp.example.evil.example",
    ]) {
      expect([host, judge(host, "10.1.2.3")]).toEqual([host, false]);
    }
  });

  it.each(["everything", "*", "*.*.example", "10.0.0.0/33", "http://proxy.example", "proxy.example:80"])(
    "is not %s",
    (item) => {
      expect(() => new EgressGuard({ allow: [item] })).toThrow(RangeError);
    },
  );
});

describe("a delivery to a Service", () => {
  it.each(["10.96.0.7", "172.20.3.4", "192.168.1.1", "100.64.9.9", "fd00:10:96::7"])(
    "goes to %s, where clusters have theirs",
    (address) => {
      expect(new EgressGuard().refusal(address, "Cluster", "orders.shop.svc")).toBeUndefined();
    },
  );

  it.each([
    "8.8.8.8",
    "2606:4700:4700::1111",
    "127.0.0.1",
    "::1",
    "169.254.169.254",
    "fe80::1",
    "0.0.0.0",
    "224.0.0.1",
  ])("does not go to %s, where an alias could lead", async (address) => {
    const target = service("http://orders.shop.svc:9/");
    expect((await attempt(target, { answers: [[address]] })).code).toBe("AddressNotAllowed");
    expect((await attempt(target, { answers: [["10.96.0.7", address]] })).code).toBe("AddressNotAllowed");
  });

  it("may go to ranges that the release allows", async () => {
    const { port } = await counted();
    const target = service(`http://orders.shop.svc:${port}/`);
    expect((await attempt(target, { answers: [["127.0.0.1"]], allow: ["127.0.0.1"] })).code).toBe("response");
  });

  it("is not let through to what a host's name allows: that is for URLs", () => {
    const guard = new EgressGuard({ allow: ["orders.shop.svc"] });
    expect(guard.refusal("8.8.8.8", "Cluster", "orders.shop.svc")).toBe("8.8.8.8 is public");
  });
});
