import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { caseMaterial } from "../../src/cli/verify/case-material.ts";
import { handshakeRoute } from "../../src/cli/verify/handshake-route.ts";
import { difference } from "../../src/cli/verify/handshakes.ts";
import type { Handshake } from "../../src/cli/verify/replay.ts";
import type { FetchRequest } from "../../src/egress/guarded-fetch.ts";
import { FetchedMaterial, type MaterialSource } from "../../src/gateway/material/material-source.ts";
import type { SignatureCase } from "../../src/verification/vectors.ts";
import { startVectorGateway, type VectorGateway } from "../support/vector-gateway.ts";
import { type Vector, vectors } from "../support/vectors.ts";
import { outcomeOf, wireCase, type WireCase } from "./wire.ts";
import { keptEvents } from "../support/kept-events.ts";

const handshakes = JSON.parse(
  readFileSync(new URL("../vectors/handshakes.json", import.meta.url), "utf8"),
) as readonly Handshake[];

let gateway: VectorGateway;
/** What the providers' servers hold: that of the case under way. */
let present: Pick<SignatureCase, "secret" | "extra" | "now"> = { secret: "" };
const asked: string[] = [];
const everAsked = new Set<string>();

beforeAll(async () => {
  gateway = await startVectorGateway({ material: providers(), fetch });
});
afterAll(() => gateway.stop());

/** Certificates are those of the cases, which no authority has signed; keys in JSON are fetched as from Plaid. */
function providers(): MaterialSource {
  const certificates = caseMaterial(() => present);
  const clock = { now: () => Date.now(), monotonic: nextSecond };
  const keys = new FetchedMaterial({ fetch, clock, logger: { warn: () => undefined } });
  return {
    obtain: (wanted, route) => (wanted.kind === "jwk" ? keys : certificates).obtain(wanted, route),
  };
}

let seconds = 0;
function nextSecond(): number {
  seconds += 1;
  return seconds * 1_000;
}

/** Plaid's server, which knows one key, and whatever answers a confirmation. */
function fetch({ url, json }: FetchRequest): Promise<{ status: number; body: Buffer }> {
  asked.push(url);
  everAsked.add(url);
  if (json === undefined) return Promise.resolve({ status: 200, body: Buffer.from("<ConfirmSubscriptionResponse/>") });
  const plaid = vectors.find(({ scheme }) => scheme === "plaid-jwt");
  const jwk = JSON.parse(String(plaid?.secret)) as { kid: string };
  const found = (json as { key_id?: unknown }).key_id === jwk.kid;
  return Promise.resolve({
    status: found ? 200 : 404,
    body: Buffer.from(JSON.stringify({ key: { ...jwk, created_at: 1_560_466_150, expired_at: null } })),
  });
}

async function answerTo(vector: Vector): Promise<{ wire: WireCase; status: number; body: string }> {
  const wire = wireCase(vector, true);
  if (wire === undefined) throw new Error(`${vector.id} is no request to a route`);
  present = wire.arrived;
  return { wire, ...(await gateway.send(wire.entry, wire.request)) };
}

/** gitlab-04 differs from a valid one by a blank at the end of a header, which no request can have. */
const TRIMMED: ReadonlySet<string> = new Set(["gitlab-04"]);

describe("every vector as a request to a route of its provider", () => {
  it.each(
    vectors.map((vector) => [vector.id, vector.valid ? "accepted" : "refused", vector.note ?? "", vector] as const),
  )("%s is %s: %s", async (_id, _says, _note, vector) => {
    const { wire, status } = await answerTo(vector);
    expect(outcomeOf(status, wire)).toBe(expected(vector));
  });
});

/** Without a key the fault is ours: the provider is to try again. */
function expected({ id, valid, secret }: Vector): string {
  if (valid || TRIMMED.has(id)) return "accepted";
  return [secret].flat().every((text) => text.trim() === "") ? "status 503" : "refused";
}

describe("an accepted vector", () => {
  it("is in Redis once, however often it is sent", async () => {
    const github = vectors.find(({ id }) => id === "github-01");
    const wire = github && wireCase(github, true);
    if (wire === undefined) throw new Error("no vector github-01");
    const answers = [];
    for (let times = 0; times < 3; times += 1) answers.push(await gateway.send(wire.entry, wire.request));
    const ids = answers.map(({ body }) => (JSON.parse(body) as { id: string }).id);
    expect(new Set(ids).size).toBe(1);
    const [event, ...more] = await keptEvents(
      gateway.store.operations({ instance: "default", namespace: "cases" }),
      wire.entry.route,
    );
    expect(more).toEqual([]);
    expect(event).toMatchObject({ id: ids[0], bodyBytes: wire.request.body.length });
  });

  it.each([
    ["is good for one body only", "mailgun-01", 401],
    ["is taken with another body where several events share one", "monday-01", 200],
  ] as const)("whose signature leaves the body out %s: %s", async (_what, id, status) => {
    const vector = vectors.find((one) => one.id === id);
    const wire = vector && wireCase(vector, true);
    if (wire === undefined) throw new Error(`no vector ${id}`);
    const { entry, request } = wire;
    const text = request.body.toString();
    const other = { ...request, body: Buffer.from(text.replace(/\}\s*$/, ',"more":1}')) };
    const first = await gateway.send(entry, request);
    const again = await gateway.send(entry, request);
    const reused = await gateway.send(entry, other);
    expect([first.status, again.status, reused.status]).toEqual([entry.response.status, entry.response.status, status]);
  });
});

describe("every handshake as a request to a route of its provider", () => {
  it.each(handshakes.map((one) => [one.provider, one.scheme, one] as const))(
    "%s: %s",
    async (_provider, _scheme, one) => {
      const { request, secret, extra } = one;
      const now = request.now === undefined ? Date.now() : request.now * 1_000;
      present = { secret: secret ?? "", ...(extra && { extra }) };
      const entry = { ...handshakeRoute(one, now), host: `${one.provider}.example.com` };
      asked.length = 0;
      const answer = await gateway.send(entry, {
        method: request.method,
        target: request.path,
        headers: request.headers ?? {},
        body: Buffer.from(request.bodyBase64 ?? "", "base64"),
        now,
      });
      expect(difference(one, { ...answer, enqueued: 0, unconfirmed: undefined })).toBeUndefined();
      const text = Buffer.from(request.bodyBase64 ?? "", "base64").toString();
      const url = text.includes('"SubscribeURL"')
        ? (JSON.parse(text) as { SubscribeURL: string }).SubscribeURL
        : undefined;
      // A URL is asked for once, and a vector before may have had it.
      expect(asked.filter((other) => other !== url)).toEqual([]);
      expect([...everAsked]).toEqual(expect.arrayContaining(url === undefined ? [] : [url]));
    },
  );
});
